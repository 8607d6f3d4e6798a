// The page's story: which pack, what it says of itself, the map, and what one may do with it.

import { Map, addProtocol, setWorkerUrl } from "maplibre-gl";
import { Protocol } from "pmtiles";
import { inspect } from "./inspector.mjs";
import { box, ending, kind, layerNames, middle, packName, places, source } from "./pack.mjs";
import { ground, stacked } from "./paint.mjs";
import { describe, listLayers, trouble } from "./panel.mjs";
import { namesIn } from "./tile.mjs";
import { isDark, onThemeChange } from "./theme.mjs";

const byId = (id) => document.getElementById(id);
const NOWHERE_KNOWN = { center: [0, 20], zoom: 1.3 };

async function start() {
  const name = packName(location.pathname);
  document.title = `${name} · preview`;
  byId("name").textContent = name;
  const at = places(name, location.href);
  const tilejson = await read(at.about);
  const names = kind(tilejson) === "vector" ? await layers(tilejson, at) : [];
  describe(tilejson, name);
  const map = draw(tilejson, names, at);
  listLayers(names, (layer, visible) => show(map, layer, visible));
  connect(map, tilejson, names, at);
}

/** What the server says, or the reason it gives for not saying it. */
async function read(address) {
  const answer = await fetch(address, { headers: { accept: "application/json" } });
  const said = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(said.detail ?? said.title ?? `The server answers ${answer.status}.`);
  return said;
}

/** A pack that does not name its layers is asked for a tile near its top, its middle and its bottom. */
async function layers(tilejson, at) {
  const told = layerNames(tilejson);
  if (told.length > 0 || ending(tilejson) === ".mlt") return told;
  const { minzoom, maxzoom } = source(tilejson, "");
  const zooms = new Set([minzoom, Math.floor((minzoom + maxzoom) / 2), maxzoom]);
  const found = await Promise.all([...zooms].map((zoom) => layersOf(middle(zoom, box(tilejson.bounds)), tilejson, at)));
  return [...new Set(found.flat())];
}

async function layersOf([z, x, y], tilejson, at) {
  const address = at.tiles(ending(tilejson)).replace("{z}", z).replace("{x}", x).replace("{y}", y);
  const answer = await fetch(address);
  return answer.ok ? namesIn(new Uint8Array(await answer.arrayBuffer())) : [];
}

function draw(tilejson, names, at) {
  setWorkerUrl(new URL("assets/worker.js", location.href).href);
  addProtocol("pmtiles", new Protocol().tile);
  const bounds = box(tilejson.bounds);
  const map = new Map({
    container: "map",
    style: style(tilejson, names, at),
    hash: true,
    attributionControl: false,
    ...(bounds ? { bounds, fitBoundsOptions: { padding: 24 } } : NOWHERE_KNOWN),
  });
  map.on("error", ({ error }) => trouble(error?.message ?? "A tile could not be drawn."));
  // For whoever looks over the page's shoulder: a test, or a person at the console.
  window.preview = map;
  return map;
}

function style(tilejson, names, at) {
  const dark = isDark();
  const ranges = document.querySelector("[name=source]:checked").value === "ranges";
  const template = ranges ? `pmtiles://${at.raw}/{z}/{x}/{y}` : at.tiles(ending(tilejson));
  const raster = { id: "raster", type: "raster", source: "pack" };
  return {
    version: 8,
    sources: { pack: source(tilejson, template) },
    layers: [ground(dark), ...(kind(tilejson) === "raster" ? [raster] : stacked(names, dark))],
  };
}

function show(map, layer, visible) {
  for (const { id } of map.getStyle().layers.filter((drawn) => drawn["source-layer"] === layer)) {
    map.setLayoutProperty(id, "visibility", visible ? "visible" : "none");
  }
}

function connect(map, tilejson, names, at) {
  const hidden = () => [...document.querySelectorAll("#layers input:not(:checked)")].map((box) => box.value);
  const redraw = () => {
    map.setStyle(style(tilejson, names, at), { diff: false });
    listLayers(names, (layer, visible) => show(map, layer, visible), hidden());
    map.once("style.load", () => hidden().forEach((layer) => show(map, layer, false)));
  };
  const bounds = box(tilejson.bounds);
  byId("in").onclick = () => map.zoomIn();
  byId("out").onclick = () => map.zoomOut();
  byId("fit").onclick = () => (bounds ? map.fitBounds(bounds, { padding: 24 }) : map.easeTo(NOWHERE_KNOWN));
  byId("grid").onchange = ({ target }) => (map.showTileBoundaries = target.checked);
  onThemeChange(byId("theme"), redraw);
  byId("source").onchange = redraw;
  offerRanges(at.raw);
  const tell = () => {
    const { lng, lat } = map.getCenter();
    byId("place").textContent = `z ${map.getZoom().toFixed(2)}  ${lat.toFixed(4)}, ${lng.toFixed(4)}`;
  };
  map.on("move", tell);
  tell();
  map.on("click", ({ point }) => inspect(map, point));
}

/** Only a pack that is one file can be read by ranges. */
async function offerRanges(address) {
  const answer = await fetch(address, { method: "HEAD" }).catch(() => null);
  byId("source").hidden = answer?.headers.get("accept-ranges") !== "bytes" || !answer.ok;
}

byId("fold").onclick = ({ currentTarget: button }) => {
  const open = button.getAttribute("aria-expanded") !== "true";
  button.setAttribute("aria-expanded", open);
  button.textContent = open ? "–" : "+";
  byId("about").hidden = !open;
};

start().catch((error) => trouble(error.message));
