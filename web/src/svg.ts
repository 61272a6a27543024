/**
 * A chart as an SVG file: its drawings, its texts and the content of its canvases, in their current
 * colours. Start with `asSvg`.
 */

/** The drawing of each canvas as elements of an SVG, in pixels from its corner. */
export const drawings = new WeakMap<HTMLCanvasElement, () => string>();

const ROOM = 12;
const LOOKS = [
  "fill",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linejoin",
  "opacity",
  "font-size",
  "font-family",
  "font-weight",
  "font-style",
  "text-anchor",
  "vector-effect",
  "shape-rendering",
];
/** Elements that do not belong into a picture: tables, controls, and hidden contenders. */
const LEFT_OUT =
  "details, .beneath, .picks, .cell-picker, .values, textarea, select, .legend-all, .zoom, [aria-pressed='false']";

export const escaped = (text: string): string =>
  text
    .replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: XML 1.0 forbids these characters
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");
const px = (x: number): string => String(Number(x.toFixed(2)));

export function asSvg(chart: Element): string {
  const box = chart.getBoundingClientRect();
  const [width, height] = [box.width + 2 * ROOM, box.height + 2 * ROOM];
  const parts: string[] = [];
  const walk = (node: Node) => {
    if (node instanceof Text) parts.push(...lines(node, box));
    if (!(node instanceof Element) || node.matches(LEFT_OUT)) return;
    const style = getComputedStyle(node);
    if (style.display === "none" || style.visibility === "hidden") return;
    const at = node.getBoundingClientRect();
    const place = `transform="translate(${px(at.left - box.left)} ${px(at.top - box.top)})"`;
    if (node instanceof SVGSVGElement) {
      const copy = node.cloneNode(true) as SVGSVGElement;
      dress(node, copy);
      copy.setAttribute("width", px(at.width));
      copy.setAttribute("height", px(at.height));
      copy.setAttribute("overflow", "visible");
      parts.push(`<g ${place}>${new XMLSerializer().serializeToString(copy)}</g>`);
    } else if (node instanceof HTMLCanvasElement) {
      const drawing = drawings.get(node);
      if (drawing) parts.push(`<g ${place}>${drawing()}</g>`);
    } else node.childNodes.forEach(walk);
  };
  walk(chart);
  const paper = getComputedStyle(document.documentElement).backgroundColor;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${px(width)}" height="${px(height)}" viewBox="${-ROOM} ${-ROOM} ${px(width)} ${px(height)}">` +
    `<rect x="${-ROOM}" y="${-ROOM}" width="${px(width)}" height="${px(height)}" fill="${escaped(paper)}"/>${parts.join("")}</svg>`
  );
}

/** Copies the styles of an element into the attributes of its copy. */
function dress(original: Element, copy: Element) {
  const style = getComputedStyle(original);
  if (style.display === "none") return copy.remove();
  for (const look of LOOKS) {
    const value = style.getPropertyValue(look);
    if (value && value !== "auto") copy.setAttribute(look, value);
  }
  for (const name of ["class", "style", "role", "tabindex", "aria-label", "aria-hidden"])
    copy.removeAttribute(name);
  const copies = [...copy.children];
  for (const [i, child] of [...original.children].entries()) dress(child, copies[i]!);
}

/** A text with the line breaks that it has on screen. */
function lines(text: Text, box: DOMRect): string[] {
  const found: { x: number; y: number; words: string[] }[] = [];
  const range = document.createRange();
  for (const word of text.data.matchAll(/\S+/g)) {
    range.setStart(text, word.index);
    range.setEnd(text, word.index + word[0].length);
    const at = range.getClientRects()[0];
    if (!at || at.width === 0) continue;
    const y = at.top + at.height / 2 - box.top;
    const last = found.at(-1);
    if (last && Math.abs(last.y - y) < 2) last.words.push(word[0]);
    else found.push({ x: at.left - box.left, y, words: [word[0]] });
  }
  if (found.length === 0 || !text.parentElement) return [];
  const { color, fontSize, fontFamily, fontWeight, fontStyle } = getComputedStyle(
    text.parentElement,
  );
  const looks = `fill="${escaped(color)}" font-size="${fontSize}" font-family="${escaped(fontFamily)}" font-weight="${fontWeight}" font-style="${fontStyle}"`;
  return found.map(
    ({ x, y, words }) =>
      `<text x="${px(x)}" y="${px(y)}" dominant-baseline="central" ${looks}>${escaped(words.join(" "))}</text>`,
  );
}
