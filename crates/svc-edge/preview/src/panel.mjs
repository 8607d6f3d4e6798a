// The panel: what the pack says of itself, always as text.

import { colour, css } from "./paint.mjs";
import { ending, kind } from "./pack.mjs";
import { plain } from "./plain.mjs";
import { isDark } from "./theme.mjs";

const byId = (id) => document.getElementById(id);

export function element(tag, text) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  return made;
}

export function describe(tilejson, name) {
  byId("name").textContent = text(tilejson.name) || name;
  byId("description").textContent = text(tilejson.description);
  byId("attribution").textContent = plain(text(tilejson.attribution));
  const facts = [
    ["Pack", name],
    ["Tiles", `${kind(tilejson)}${ending(tilejson) && ` ${ending(tilejson)}`}`],
    ["Zoom", `${tilejson.minzoom ?? "?"} to ${tilejson.maxzoom ?? "?"}`],
    ["Version", text(tilejson.version)],
  ];
  byId("facts").replaceChildren(...facts.filter(([, value]) => value).flatMap(pair));
}

/** A term and what it stands for. */
export function pair([term, value]) {
  return [element("dt", term), element("dd", value)];
}

export function listLayers(names, onToggle, hidden = []) {
  const row = (name, index) => {
    const box = element("input");
    box.type = "checkbox";
    box.value = name;
    box.checked = !hidden.includes(name);
    box.onchange = () => onToggle(name, box.checked);
    const label = element("label");
    label.append(box, swatch(name, index), element("span", name));
    const item = element("li");
    item.append(label);
    return item;
  };
  byId("layers").replaceChildren(...names.map(row));
}

/** A drawn square: its colour is an attribute of SVG, which the page's policy allows where a style is not. */
export function swatch(name, index) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const square = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  square.setAttribute("width", "100%");
  square.setAttribute("height", "100%");
  square.setAttribute("fill", css(colour(name, index, isDark())));
  svg.setAttribute("aria-hidden", "true");
  svg.append(square);
  return svg;
}

/** Says what went wrong, once, below everything else in the panel. */
export function trouble(message) {
  const said = byId("trouble") ?? element("p");
  said.id = "trouble";
  said.setAttribute("role", "alert");
  said.textContent = String(message);
  byId("panel").append(said);
}

const text = (value) => (typeof value === "string" ? value : "");
