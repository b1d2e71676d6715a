// @ts-check
// Elements of a page, made by name, and names for those that others refer to.

const SVG = "http://www.w3.org/2000/svg";

/** What an element may hold. @typedef {Node | string | number | null | undefined} Part */
/** @typedef {(Part | Part[])[]} Parts */
/** @typedef {Record<string, unknown>} Attributes */

/**
 * An HTML element; attributes by name, children as elements or as text, which stays text.
 * @type {<K extends keyof HTMLElementTagNameMap>(
 *   tag: K, attributes?: Attributes, ...children: Parts) => HTMLElementTagNameMap[K]}
 */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/**
 * An SVG element, as `el`.
 * @type {<K extends keyof SVGElementTagNameMap>(
 *   tag: K, attributes?: Attributes, ...children: Parts) => SVGElementTagNameMap[K]}
 */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** @type {<E extends Element>(node: E, attributes: Attributes, children: Parts) => E} */
function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) {
      node.setAttribute(name, `${value}`);
    }
  }
  const parts = children.flat().filter((child) => child !== null && child !== undefined);
  node.append(.../** @type {(Node | string)[]} */ (parts));
  return node;
}

const COUNTER = Symbol.for("mhsa_book.widgets: ids in use");

/** A name for one element of this page; figures of other kinds, in other modules, count along. */
export function uid() {
  const page = /** @type {{ [COUNTER]?: number }} */ (globalThis);
  const next = (page[COUNTER] ?? 0) + 1;
  page[COUNTER] = next;
  return `mhsa-${next}`;
}

/**
 * A table that scrolls by itself where it is too wide.
 * @type {(name: string, ...inside: Parts) => HTMLElement}
 */
export function scroller(name, ...inside) {
  const about = { class: "mhsa-scroll", tabindex: 0, role: "group", "aria-label": name };
  return el("div", about, ...inside);
}
