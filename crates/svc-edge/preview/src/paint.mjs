// Colours and layers: what is usually called water is blue, and what nobody knows still differs from its neighbour.

/** Name, hue, and how much of a colour it is: [dark, light] as hue, saturation, lightness. */
const KNOWN = [
  [/water|ocean|sea|lake|river|hydro|marine/, [205, 42, 20], [203, 55, 80]],
  [/^(earth|land|continent)/, [212, 16, 17], [48, 32, 94]],
  [/countr|admin_?0|nation/, [172, 24, 26], [158, 26, 83]],
  [/park|forest|wood|grass|landcover|natural|green/, [140, 24, 24], [110, 36, 82]],
  [/landuse|land_use|area|site/, [90, 14, 22], [70, 28, 88]],
  [/build|house/, [28, 16, 32], [28, 24, 76]],
  [/road|street|transport|highway|path/, [38, 46, 58], [34, 62, 58]],
  [/rail|transit|ferr/, [300, 18, 52], [300, 18, 56]],
  [/bound|border|admin/, [170, 40, 62], [200, 22, 44]],
  [/graticule|grid/, [205, 22, 34], [205, 20, 76]],
  [/place|poi|label|address|number/, [12, 72, 66], [8, 62, 54]],
];

/** The golden angle: colours one after another are far apart. */
const STEP_DEGREES = 137.5;

export function colour(name, index, dark) {
  const known = KNOWN.find(([words]) => words.test(name.toLowerCase()));
  const [hue, saturation, lightness] = known
    ? known[dark ? 1 : 2]
    : [(index * STEP_DEGREES + 20) % 360, dark ? 44 : 50, dark ? 56 : 52];
  return { hue, saturation, lightness };
}

export function css({ hue, saturation, lightness }) {
  return `hsl(${Math.round(hue)}, ${saturation}%, ${lightness}%)`;
}

/** Away from the ground: lighter on dark, darker on light. */
function raised(colour, dark, by) {
  const lightness = Math.max(0, Math.min(100, colour.lightness + (dark ? by : -by)));
  return { ...colour, lightness };
}

const GEOMETRY = { fill: "Polygon", line: "LineString", circle: "Point" };

const isOf = (geometry) => ["==", ["geometry-type"], geometry];

/** The layers that draw one layer of the pack: its areas, their outlines, its lines and its points. */
export function drawn(name, index, dark) {
  const base = colour(name, index, dark);
  const fill = css(base);
  const edge = css(raised(base, dark, 14));
  const growing = (far, near) => ["interpolate", ["linear"], ["zoom"], 0, far, 16, near];
  const layer = (type, part, geometry, paint) => ({
    id: `${name}/${part}`,
    type,
    source: "pack",
    "source-layer": name,
    filter: isOf(geometry),
    paint,
  });
  return [
    layer("fill", "fill", GEOMETRY.fill, { "fill-color": fill, "fill-opacity": 0.9, "fill-antialias": false }),
    layer("line", "outline", GEOMETRY.fill, { "line-color": edge, "line-width": growing(0.6, 1) }),
    layer("line", "line", GEOMETRY.line, { "line-color": css(raised(base, dark, 6)), "line-width": growing(0.6, 2.4) }),
    layer("circle", "circle", GEOMETRY.circle, {
      "circle-color": fill,
      "circle-radius": growing(1.2, 3.6),
      "circle-stroke-color": css({ hue: 0, saturation: 0, lightness: dark ? 8 : 100 }),
      "circle-stroke-width": 1,
    }),
  ];
}

/** Areas below lines below points, each in the pack's order. */
export function stacked(names, dark) {
  const order = { fill: 0, line: 1, circle: 2 };
  const all = names.flatMap((name, index) => drawn(name, index, dark));
  return all.sort((one, other) => order[one.type] - order[other.type]);
}

export const ground = (dark) => ({
  id: "ground",
  type: "background",
  paint: { "background-color": dark ? "#0e151c" : "#d9e4ec" },
});

/** What has the same number, or else says the same of itself; nothing when there is no telling. */
export function like({ id, properties }) {
  if (id !== undefined) return ["==", ["id"], id];
  const plain = Object.entries(properties).filter(([, value]) => ["string", "number", "boolean"].includes(typeof value));
  return plain.length > 0 ? ["all", ...plain.map(([key, value]) => ["==", ["get", key], value])] : null;
}
