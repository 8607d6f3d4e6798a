// The PMTiles client that map pages use, over ranges of the raw pack, and plain requests for tiles.

import assert from "node:assert/strict";
import { open } from "node:fs/promises";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { packFile, start } from "./node.mjs";

const { FetchSource, PMTiles } = createRequire(import.meta.url)("pmtiles");

/** The file itself, read without any server. */
class FileSource {
  constructor(file) {
    this.file = file;
  }
  getKey() {
    return "file";
  }
  async getBytes(offset, length) {
    const buffer = new Uint8Array(length);
    const { bytesRead } = await this.file.read(buffer, 0, length, offset);
    return { data: buffer.buffer.slice(0, bytesRead) };
  }
}

let node, file, truth;
before(async () => {
  node = await start();
  file = await open(packFile);
  truth = new PMTiles(new FileSource(file));
});
after(async () => {
  node?.stop();
  await file?.close();
});

function* addresses({ minZoom, maxZoom }) {
  for (let z = minZoom; z <= maxZoom; z++)
    for (let x = 0; x < 2 ** z; x++) for (let y = 0; y < 2 ** z; y++) yield [z, x, y];
}

/** Every request of `run`, with the headers it was sent with and what came back. */
async function watched(run) {
  const plain = globalThis.fetch;
  const seen = [];
  globalThis.fetch = async (address, options) => {
    const response = await plain(address, options);
    seen.push({ asked: new Headers(options?.headers), response });
    return response;
  };
  try {
    await run();
  } finally {
    globalThis.fetch = plain;
  }
  return seen;
}

// req: ED-01, ED-06
test("the client reads every tile by ranges, equal to the file's", async () => {
  const served = new PMTiles(new FetchSource(`${node.base}/packs/world`));
  let tiles = 0;
  const seen = await watched(async () => {
    for (const [z, x, y] of addresses(await truth.getHeader())) {
      const [one, other] = await Promise.all([truth.getZxy(z, x, y), served.getZxy(z, x, y)]);
      assert.deepEqual(new Uint8Array(other?.data ?? []), new Uint8Array(one?.data ?? []), `${z}/${x}/${y}`);
      tiles += other ? 1 : 0;
    }
  });
  assert.ok(tiles > 300, `${tiles} tiles`);
  assert.ok(seen.every(({ asked, response }) => asked.has("range") && response.status === 206));
  const tags = new Set(seen.map(({ response }) => response.headers.get("etag")));
  assert.equal(tags.size, 1);
  assert.match([...tags][0], /^"[^"]+"$/);
});

// req: ED-01, ED-07
test("every tile by its own address is the file's", async () => {
  for (const [z, x, y] of addresses(await truth.getHeader())) {
    const expected = await truth.getZxy(z, x, y);
    const answer = await fetch(`${node.base}/tiles/world/${z}/${x}/${y}.mvt`);
    const body = new Uint8Array(await answer.arrayBuffer());
    assert.deepEqual(body, new Uint8Array(expected?.data ?? []), `${z}/${x}/${y}`);
  }
});

// req: ED-06
test("a range is not mixed with another version of the pack", async () => {
  const address = `${node.base}/packs/world`;
  const head = await fetch(address, { headers: { range: "bytes=0-126" } });
  assert.equal(head.status, 206);
  const again = (tag) => fetch(address, { headers: { range: "bytes=0-126", "if-range": tag, "accept-encoding": "identity" } });
  assert.equal((await again(head.headers.get("etag"))).status, 206);
  const other = await again('"another"');
  assert.equal(other.status, 200);
  assert.equal((await other.arrayBuffer()).byteLength, (await file.stat()).size);
});
