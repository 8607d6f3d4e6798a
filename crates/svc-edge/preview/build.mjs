// Builds dist/ from src/: one script, MapLibre's worker, the page and the licences. Takes the directory of node_modules.

import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const modules = process.argv[2];
const here = dirname(fileURLToPath(import.meta.url));
const { build } = createRequire(join(modules, "anchor.js"))("esbuild");

const text = (path) => readFileSync(path, "utf8");
const pack = (bytes) => {
  const packed = gzipSync(bytes, { level: 9 });
  // The byte that names the machine's system: the same files everywhere.
  packed[9] = 255;
  return packed;
};

async function script(entry) {
  const made = await build({
    entryPoints: [entry],
    bundle: true,
    format: "esm",
    minify: true,
    write: false,
    target: "es2022",
    legalComments: "none",
    nodePaths: [modules],
  });
  return made.outputFiles[0].contents;
}

async function stylesheet(entry) {
  const made = await build({ entryPoints: [entry], minify: true, write: false });
  return made.outputFiles[0].contents;
}

/** The licence of each package that is in the bundle or in what it bundles, from the package itself. */
function licences() {
  const about = (name) => JSON.parse(text(join(modules, name, "package.json")));
  const ours = ["maplibre-gl", "pmtiles"];
  const below = ours.flatMap((name) => Object.keys(about(name).dependencies ?? {}));
  const bundled = [...ours, ...below.filter((name) => !name.startsWith("@types/"))];
  const one = (name) => `${name} ${about(name).version} (${about(name).license})\n\n${licence(name).trim()}`;
  const tidy = (line) => line.replaceAll("\t", "    ").trimEnd();
  return `${bundled.map(one).join("\n\n----\n\n").split("\n").map(tidy).join("\n")}\n`;
}

function licence(name) {
  for (const file of ["LICENSE.txt", "LICENSE", "LICENSE.md"]) {
    try {
      return text(join(modules, name, file));
    } catch {
      // The next name it may have.
    }
  }
  return text(join(here, "licences", `${name}.txt`));
}

/** FNV-1a of the sources: by it `cargo xtask check` sees that they changed since. */
function sources() {
  const names = readdirSync(join(here, "src")).map((name) => `src/${name}`);
  let hash = 0xcbf29ce484222325n;
  for (const name of ["build.mjs", "package-lock.json", ...names.sort()]) {
    for (const byte of Buffer.concat([Buffer.from(`${name}\0`), readFileSync(join(here, name))])) {
      hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
    }
  }
  return `${hash.toString(16).padStart(16, "0")}\n`;
}

const dist = join(here, "dist");
rmSync(dist, { recursive: true, force: true });
mkdirSync(dist);
const put = (name, bytes) => {
  writeFileSync(join(dist, name), bytes);
  console.log(`${String(bytes.length).padStart(8)}  ${name}`);
};

put("index.html", text(join(here, "src/index.html")));
put("icon.svg", text(join(here, "src/icon.svg")));
put("app.css", await stylesheet(join(here, "src/app.css")));
put("app.js.gz", pack(await script(join(here, "src/app.mjs"))));
put("worker.js.gz", pack(await script(join(modules, "maplibre-gl/dist/maplibre-gl-worker.mjs"))));
put("licences.txt", licences());
put("built-from.txt", sources());
