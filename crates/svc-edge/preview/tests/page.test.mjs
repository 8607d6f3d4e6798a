import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test from "node:test";
import { colour, css, drawn, like, stacked } from "../src/paint.mjs";
import { plain } from "../src/plain.mjs";
import { namesIn } from "../src/tile.mjs";

const layer = (name) => [0x1a, name.length + 4, 0x78, 2, 0x0a, name.length, ...new TextEncoder().encode(name)];

test("the layers of a tile are found by name, each once", () => {
  assert.deepEqual(namesIn(Uint8Array.from([...layer("water"), ...layer("roads"), ...layer("water")])), ["water", "roads"]);
});

test("a tile cut short anywhere ends the reading, not the page", () => {
  const whole = Uint8Array.from([...layer("water"), ...layer("roads")]);
  for (let length = 0; length <= whole.length; length++) {
    assert.ok(namesIn(whole.subarray(0, length)).length <= 2);
  }
  assert.deepEqual(namesIn(Uint8Array.from([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])), []);
});

test("neighbours in the list of layers differ in colour, in dark and in light", () => {
  for (const dark of [true, false]) {
    const seen = new Set(["one", "two", "three", "four"].map((name, index) => css(colour(name, index, dark))));
    assert.equal(seen.size, 4);
    assert.notEqual(css(colour("water", 0, dark)), css(colour("earth", 0, dark)));
  }
});

test("areas lie below lines and lines below points", () => {
  const types = stacked(["a", "b"], true).map(({ type }) => type);
  assert.deepEqual(types, [...types].sort((a, b) => ["fill", "line", "circle"].indexOf(a) - ["fill", "line", "circle"].indexOf(b)));
  assert.equal(types.length, 2 * drawn("a", 0, true).length);
});

test("what was clicked is found again by its number, else by what it says, else not at all", () => {
  assert.deepEqual(like({ id: 76, properties: { name: "Brazil" } }), ["==", ["id"], 76]);
  const said = like({ properties: { name: "Brazil", odd: null, big: true } });
  assert.deepEqual(said, ["all", ["==", ["get", "name"], "Brazil"], ["==", ["get", "big"], true]]);
  assert.equal(like({ properties: {} }), null);
});

test("an attribution comes out as its words, without tags", () => {
  assert.equal(plain('<a href="https://x">&copy; Someone</a> &amp; others'), "© Someone & others");
  assert.equal(plain("<img src=x onerror=alert(1)>"), "");
  assert.equal(plain("a < b"), "a < b");
});

test("no source of the page builds HTML from text or evaluates any", () => {
  const sources = new URL("../src/", import.meta.url);
  for (const name of readdirSync(sources).filter((name) => name.endsWith(".mjs"))) {
    const text = readFileSync(new URL(name, sources), "utf8");
    const forbidden = /innerHTML|outerHTML|insertAdjacentHTML|document\.write|setHTML|\beval\(|new Function/;
    assert.doesNotMatch(text, forbidden, name);
  }
});
