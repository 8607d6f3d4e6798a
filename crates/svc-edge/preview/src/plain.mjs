// Words of what others wrote as HTML.

/** Attributions are written as HTML by habit; the words of it, without letting a browser parse it. */
export function plain(html) {
  const words = html.replace(/<[^>]*>/g, "");
  const named = { amp: "&", lt: "<", gt: ">", quot: '"', copy: "©", nbsp: " ", "#39": "'" };
  return words.replace(/&(amp|lt|gt|quot|copy|nbsp|#39);/g, (_, name) => named[name]);
}
