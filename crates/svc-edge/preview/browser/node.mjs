// A running node with packs mounted, for the tests of this directory.

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";

const START_LIMIT_MS = 30_000;
const METADATA = 24;

export const packFile = process.env.MACRONODE_PACK;

/** What the hostile pack says of itself: to be shown as words, and nothing else. */
export const HOSTILE = '<img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script>kind words';

/** The node with the demonstration pack as `world`, and a copy with hostile metadata as `hostile`. */
export async function start() {
  const home = mkdtempSync(join(tmpdir(), "macronode-browser-"));
  const hostile = join(home, "hostile.pmtiles");
  writeFileSync(hostile, withMetadata(readFileSync(packFile), { attribution: HOSTILE, name: HOSTILE, description: HOSTILE }));
  const args = ["tiles", "--listen", "127.0.0.1:0", packFile, hostile];
  const child = spawn(process.env.MACRONODE_BIN, args, { stdio: ["ignore", "pipe", "pipe"] });
  const base = await address(child);
  const stop = () => {
    child.kill("SIGTERM");
    rmSync(home, { recursive: true, force: true });
  };
  return { base, stop };
}

/** The address it prints for the preview. */
function address(child) {
  return new Promise((resolve, reject) => {
    let said = "";
    const late = setTimeout(() => reject(new Error(`no address after ${START_LIMIT_MS} ms: ${said}`)), START_LIMIT_MS);
    const hear = (bytes) => {
      said += bytes;
      const found = /(http:\/\/[^\s/]+)\/preview\//.exec(said);
      if (!found) return;
      clearTimeout(late);
      resolve(found[1]);
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.on("exit", (code) => reject(new Error(`the node ended with ${code}: ${said}`)));
  });
}

/** A pack with members of its metadata replaced: the new metadata stands at the end, and the header points there. */
function withMetadata(pack, members) {
  const at = Number(pack.readBigUInt64LE(METADATA));
  const length = Number(pack.readBigUInt64LE(METADATA + 8));
  const metadata = JSON.parse(gunzipSync(pack.subarray(at, at + length)));
  const replaced = gzipSync(JSON.stringify({ ...metadata, ...members }));
  const whole = Buffer.concat([pack, replaced]);
  whole.writeBigUInt64LE(BigInt(pack.length), METADATA);
  whole.writeBigUInt64LE(BigInt(replaced.length), METADATA + 8);
  return whole;
}
