import assert from "node:assert/strict";
import test from "node:test";
import { box, ending, kind, layerNames, middle, packName, places, source } from "../src/pack.mjs";

test("the pack is the last segment of the address, whatever the prefix", () => {
  assert.equal(packName("/preview/world"), "world");
  assert.equal(packName("/behind/a/proxy/preview/my%20pack"), "my pack");
  assert.equal(packName("/preview/%E0%A4%A"), "%E0%A4%A");
});

test("every address lies below the page's own", () => {
  const at = places("a b/../c", "http://node:1/x/preview/whatever#3/1/2");
  assert.equal(at.about, "http://node:1/x/tiles/a%20b%2F..%2Fc.json");
  assert.equal(at.raw, "http://node:1/x/packs/a%20b%2F..%2Fc");
  assert.equal(at.tiles(".mvt"), "http://node:1/x/tiles/a%20b%2F..%2Fc/{z}/{x}/{y}.mvt");
});

test("of a template only its ending is taken, and only a short plain one", () => {
  const of = (template) => ending({ tiles: [template] });
  assert.equal(of("https://elsewhere/{z}/{x}/{y}.mvt?key=1"), ".mvt");
  assert.equal(of("https://elsewhere/{z}/{x}/{y}"), "");
  assert.equal(of("https://elsewhere/{z}/{x}/{y}.mvt/../../x"), "");
  assert.equal(ending({}), "");
  assert.equal(ending({ tiles: "no list" }), "");
});

test("pictures are raster and everything else is vector", () => {
  for (const format of ["png", "jpg", "webp", "avif"]) {
    assert.equal(kind({ tiles: [`x/{z}/{x}/{y}.${format}`] }), "raster");
  }
  assert.equal(kind({ tiles: ["x/{z}/{x}/{y}.mvt"] }), "vector");
  assert.equal(kind({}), "vector");
});

test("numbers that are none do not reach the map", () => {
  const made = source({ minzoom: "0", maxzoom: 99, bounds: [0, 0, "1", 1] }, "t");
  assert.deepEqual(made, { type: "vector", tiles: ["t"], minzoom: 0, maxzoom: 14 });
  assert.equal(box([10, 0, -10, 5]), null);
  assert.deepEqual(box([-10, 0, 10, 5]), [-10, 0, 10, 5]);
});

test("layers without a name are left out", () => {
  assert.deepEqual(layerNames({ vector_layers: [{ id: "water" }, {}, null, { id: 3 }, { id: "" }] }), ["water"]);
  assert.deepEqual(layerNames({ vector_layers: "water" }), []);
});

test("the tile in the middle is inside the zoom's grid", () => {
  assert.deepEqual(middle(0, null), [0, 0, 0]);
  assert.deepEqual(middle(12, [-74.02, 40.7, -74, 40.72]), [12, 1205, 1540]);
  assert.deepEqual(middle(3, [170, 80, 190, 90]), [3, 7, 0]);
});
