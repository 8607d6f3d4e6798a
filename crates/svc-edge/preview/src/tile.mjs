// The names of the layers in a vector tile, for packs that do not tell them.

const LAYER = 3;
const NAME = 1;
const LENGTH_DELIMITED = 2;

/** Reads what it can: a tile cut short gives the names up to there. */
export function namesIn(bytes) {
  const names = [];
  for (const [field, layer] of fields(bytes)) {
    if (field !== LAYER) continue;
    for (const [inner, value] of fields(layer)) {
      if (inner === NAME) names.push(new TextDecoder().decode(value));
    }
  }
  return [...new Set(names)];
}

/** The length-delimited fields of a message; others are stepped over. */
function* fields(bytes) {
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let shift = 0; at < bytes.length; shift += 7) {
      const byte = bytes[at++];
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) break;
    }
    return value;
  };
  while (at < bytes.length) {
    const tag = varint();
    const wire = tag & 7;
    if (wire === LENGTH_DELIMITED) {
      const end = varint() + at;
      yield [tag >>> 3, bytes.subarray(at, end)];
      at = end;
    } else if (wire === 0) {
      varint();
    } else if (wire === 1 || wire === 5) {
      at += wire === 1 ? 8 : 4;
    } else {
      return;
    }
  }
}
