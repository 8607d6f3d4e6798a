// What the page shows: the pack named by its address, and where its tiles are.

const RASTER = ["png", "jpg", "jpeg", "webp", "avif"];

/** The pack of `/any/prefix/preview/{pack}`. */
export function packName(pathname) {
  const last = pathname.split("/").filter(Boolean).pop() ?? "";
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}

/** Addresses of a pack, all below the page's own: what the pack says of itself leads nowhere else. */
export function places(name, base) {
  const at = (path) => new URL(path, base).href;
  const pack = encodeURIComponent(name);
  return {
    about: at(`../tiles/${pack}.json`),
    raw: at(`../packs/${pack}`),
    tiles: (ending) => `${at(`../tiles/${pack}/`)}{z}/{x}/{y}${ending}`,
  };
}

/** `.mvt` of `…/{z}/{x}/{y}.mvt?key`; nothing when the template has none. */
export function ending(tilejson) {
  const template = Array.isArray(tilejson.tiles) ? String(tilejson.tiles[0] ?? "") : "";
  return /\{y\}(\.[a-z0-9]{1,8})(?=$|[?#])/.exec(template)?.[1] ?? "";
}

/** How the tiles are to be drawn: `vector` or `raster`. */
export function kind(tilejson) {
  const format = String(tilejson.format ?? "") || ending(tilejson).slice(1);
  return RASTER.includes(format.toLowerCase()) ? "raster" : "vector";
}

/** The source as MapLibre takes it, with numbers only where there are numbers. */
export function source(tilejson, template) {
  const zoom = (value, otherwise) => (Number.isInteger(value) && value >= 0 && value <= 31 ? value : otherwise);
  const made = {
    type: kind(tilejson),
    tiles: [template],
    minzoom: zoom(tilejson.minzoom, 0),
    maxzoom: zoom(tilejson.maxzoom, 14),
  };
  const bounds = box(tilejson.bounds);
  if (bounds) made.bounds = bounds;
  if (made.type === "raster") made.tileSize = 256;
  if (ending(tilejson) === ".mlt") made.encoding = "mlt";
  return made;
}

/** West, south, east, north, if that is what they are. */
export function box(bounds) {
  if (!Array.isArray(bounds) || bounds.length !== 4 || !bounds.every(Number.isFinite)) return null;
  const [west, south, east, north] = bounds;
  return west < east && south < north ? bounds : null;
}

/** The names of the pack's layers, or none when it does not tell. */
export function layerNames(tilejson) {
  const layers = Array.isArray(tilejson.vector_layers) ? tilejson.vector_layers : [];
  return layers.map((layer) => layer?.id).filter((id) => typeof id === "string" && id !== "");
}

/** The tile of a zoom in the middle of the bounds. */
export function middle(z, bounds) {
  const [west, south, east, north] = bounds ?? [-180, -85, 180, 85];
  const latitude = (((south + north) / 2) * Math.PI) / 180;
  const side = 2 ** z;
  const column = Math.floor(((west + east) / 2 / 360 + 0.5) * side);
  const row = Math.floor((0.5 - Math.asinh(Math.tan(latitude)) / (2 * Math.PI)) * side);
  const inside = (value) => Math.max(0, Math.min(side - 1, value));
  return [z, inside(column), inside(row)];
}
