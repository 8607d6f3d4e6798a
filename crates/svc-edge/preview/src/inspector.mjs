// The inspector: what lies under a click, as text, and its outline on the map.

import { like } from "./paint.mjs";
import { element, pair } from "./panel.mjs";
import { isDark } from "./theme.mjs";

const REACH_PIXELS = 3;
const FEATURES_SHOWN = 8;
const MARK = "picked";

export function inspect(map, { x, y }) {
  const around = [
    [x - REACH_PIXELS, y - REACH_PIXELS],
    [x + REACH_PIXELS, y + REACH_PIXELS],
  ];
  const found = distinct(map.queryRenderedFeatures(around).filter((feature) => feature.source === "pack"));
  const box = document.getElementById("inspector");
  box.replaceChildren(...found.slice(0, FEATURES_SHOWN).flatMap(entry));
  if (found.length > FEATURES_SHOWN) box.append(element("p", `and ${found.length - FEATURES_SHOWN} more`));
  box.hidden = found.length === 0;
  const telling = (feature) => Object.keys(feature.properties).length > 0;
  mark(map, found.find(telling) ?? found[0]);
}

/** An area is found by its fill and by its outline; it is one thing. */
function distinct(features) {
  const seen = new Set();
  return features.filter((feature) => {
    const key = JSON.stringify([feature.sourceLayer, feature.id, feature.properties]);
    return !seen.has(key) && seen.add(key);
  });
}

function entry(feature) {
  const title = element("h2", feature.sourceLayer);
  title.append(element("small", feature.geometry.type));
  const properties = Object.entries(feature.properties);
  if (properties.length === 0) return [title, element("p", "no properties")];
  const list = element("dl");
  list.append(...properties.map(([key, value]) => [key, String(value)]).flatMap(pair));
  return [title, list];
}

/** Drawn from the tiles themselves: what was clicked is whole, also where it goes on in the next tile. */
function mark(map, feature) {
  if (map.getLayer(MARK)) map.removeLayer(MARK);
  const filter = feature && like(feature);
  if (!filter) return;
  const colour = isDark() ? "#ffd479" : "#c2410c";
  const isPoint = feature.geometry.type.endsWith("Point");
  map.addLayer({
    id: MARK,
    type: isPoint ? "circle" : "line",
    source: "pack",
    "source-layer": feature.sourceLayer,
    filter,
    paint: isPoint ? { "circle-color": colour, "circle-radius": 6 } : { "line-color": colour, "line-width": 2 },
  });
}
