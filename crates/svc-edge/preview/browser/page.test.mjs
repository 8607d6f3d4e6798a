// The preview page in Chromium: what it draws, what it asks for, and what a hostile pack can do to it.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { start } from "./node.mjs";

const { chromium } = createRequire(import.meta.url)("playwright-core");

const LIMIT_MS = 60_000;
const FLAGS = [
  // Its own sandbox cannot be had as root, and there is no graphics card to draw with.
  ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"],
  // Nothing is asked of anybody but the node.
  ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic", "--no-first-run"],
].flat();

let node, browser;
before(async () => {
  node = await start();
  mkdirSync(process.env.MACRONODE_PICTURES, { recursive: true });
  browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: FLAGS });
});
after(async () => {
  await browser?.close();
  node?.stop();
});

/** The page with its map drawn, and all that was asked for and complained about on the way. */
async function visit(pack, { theme = "dark", hash = "", run } = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, colorScheme: theme });
  const page = await context.newPage();
  page.setDefaultTimeout(LIMIT_MS);
  const asked = [];
  const complaints = [];
  page.on("request", (request) => asked.push(request.url()));
  page.on("console", (line) => ["error", "warning"].includes(line.type()) && complaints.push(line.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  try {
    await page.goto(`${node.base}/preview/${pack}${hash}`);
    await drawn(page);
    return await run({ page, context, asked, complaints });
  } finally {
    await context.close();
  }
}

const drawn = (page) =>
  page.waitForFunction(() => window.preview?.isStyleLoaded() && window.preview.areTilesLoaded(), null, { timeout: LIMIT_MS });

const picture = (page, name) => page.screenshot({ path: join(process.env.MACRONODE_PICTURES, `${name}.png`) });

/** The names of what is on the map, whether or not it has come in yet when asked first. */
const countries = (page) =>
  page.evaluate(() => {
    const features = window.preview.queryRenderedFeatures({ layers: ["countries/fill"] });
    return [...new Set(features.map((feature) => feature.properties.name))].sort();
  });

// req: ED-12
test("the map is drawn in dark and in light, and nobody else is asked for anything", async () => {
  for (const theme of ["dark", "light"]) {
    await visit("world", {
      theme,
      run: async ({ page, asked, complaints }) => {
        const seen = await countries(page);
        assert.ok(seen.length > 100 && seen.includes("Brazil"), `${seen.length} countries`);
        await picture(page, `world-${theme}`);
        assert.deepEqual([...new Set(asked.map((address) => new URL(address).origin))], [node.base]);
        assert.deepEqual(complaints, []);
      },
    });
  }
});

// req: ED-12
test("a click tells what lies there, and the address keeps the place", async () => {
  await visit("world", {
    hash: "#4/-10/-52",
    run: async ({ page }) => {
      assert.match(page.url(), /#4\/-10\/-52$/);
      await page.mouse.click(700, 400);
      await page.waitForSelector("#inspector:not([hidden])");
      assert.match(await page.textContent("#inspector"), /countries.*name.*Brazil.*iso.*076/s);
      await picture(page, "world-inspected");
      await page.click("#in");
      await page.waitForFunction(() => /^#5\//.test(location.hash));
    },
  });
});

// req: ED-12
test("by ranges of the file the same map is drawn as by tiles", async () => {
  await visit("world", {
    run: async ({ page, asked, complaints }) => {
      const byTiles = await countries(page);
      await page.click("text=Ranges");
      await page.waitForFunction(() => window.preview.getSource("pack")?.tiles?.[0].startsWith("pmtiles://"));
      await drawn(page);
      assert.deepEqual(await countries(page), byTiles);
      assert.ok(asked.some((address) => address.endsWith("/packs/world")));
      assert.deepEqual(complaints, []);
    },
  });
});

// req: ED-06
test("the browser's own cache asks whether tiles changed, and is told that they did not", async () => {
  await visit("world", {
    run: async ({ page, context }) => {
      const wire = await context.newCDPSession(page);
      await wire.send("Network.enable");
      const addresses = new Map();
      const unchanged = [];
      wire.on("Network.requestWillBeSent", ({ requestId, request }) => addresses.set(requestId, request.url));
      wire.on("Network.responseReceivedExtraInfo", ({ requestId, statusCode }) => {
        if (statusCode === 304) unchanged.push(addresses.get(requestId) ?? "");
      });
      const tile = `${node.base}/tiles/world/1/1/1.mvt`;
      const size = (cache) => page.evaluate(async ([url, cache]) => (await (await fetch(url, { cache })).arrayBuffer()).byteLength, [tile, cache]);
      const [first, second] = [await size("default"), await size("no-cache")];
      assert.ok(first > 0 && first === second);
      // The news of an answer's head comes on its own way.
      for (const late = Date.now() + 10_000; !unchanged.includes(tile) && Date.now() < late; ) await page.waitForTimeout(20);
      assert.ok(unchanged.includes(tile), `not asked again, or answered in full: ${unchanged}`);
    },
  });
});

// req: ED-12
// attack: L-23
test("what a pack says of itself is words on the page, and nothing more", async () => {
  await visit("hostile", {
    run: async ({ page, asked }) => {
      assert.equal(await page.title(), "hostile · preview");
      assert.equal(await page.locator("img").count(), 0);
      assert.equal(await page.locator("script").count(), 1);
      assert.match(await page.textContent("#name"), /kind words/);
      assert.match(await page.textContent("#attribution"), /kind words/);
      assert.ok(asked.every((address) => address.startsWith(`${node.base}/`)));
      await picture(page, "hostile");
    },
  });
});

// req: ED-12
test("a pack that is not there is said to be missing", async () => {
  const page = await browser.newPage();
  await page.goto(`${node.base}/preview/nowhere`);
  const said = page.locator("#trouble");
  const refused = await fetch(`${node.base}/preview/nowhere`);
  if (refused.ok) assert.ok((await said.textContent({ timeout: LIMIT_MS })).length > 10);
  else assert.equal(refused.status, 404);
  await page.close();
});
