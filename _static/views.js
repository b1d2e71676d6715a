// @ts-check
// What may come back into a figure, and the link to what it shows: a state is taken from an
// address or from the browser's storage only if Python, too, would take it.

/**
 * As mhsa_book/widgets/rules.py writes it.
 * @typedef {{ least?: number, most?: number, whole?: boolean, among?: unknown[], parts?: Rule[],
 *   each?: Rule, fewest?: number, none?: boolean, own?: boolean }} Rule
 */
/** @typedef {Record<string, Rule>} Rules */
/** @typedef {Record<string, unknown>} State */

const LONGEST_VALUE = 2000;

/** @type {(value: unknown, rule: Rule) => boolean} */
function fitsRule(value, rule) {
  const { least = 0, most = 0, fewest = 0, among, parts, each } = rule;
  if (value === null) return rule.none === true;
  if (among) return among.includes(value);
  if (Array.isArray(value)) {
    if (parts) return value.length === parts.length && parts.every((p, i) => fitsRule(value[i], p));
    if (!each || value.length < fewest || value.length > most) return false;
    return value.every((item) => fitsRule(item, each));
  }
  if (parts || each || typeof value !== "number") return false;
  return value >= least && value <= most && (!rule.whole || Number.isInteger(value));
}

/**
 * Those values of a state that keep their rules.
 * @type {(state: unknown, rules: Rules) => State}
 */
function fitting(state, rules) {
  const given = /** @type {State} */ (Object(state));
  const names = Object.keys(rules).filter((name) => Object.hasOwn(given, name));
  return Object.fromEntries(
    names.filter((name) => fitsRule(given[name], rules[name])).map((name) => [name, given[name]]),
  );
}

/**
 * The values that a figure can bring back; for a link without those that the reader typed.
 * @type {(state: State, rules: Rules, link?: boolean) => State}
 */
function settingsOf(state, rules, link = false) {
  const names = Object.keys(rules).filter((name) => !(link && rules[name].own));
  return Object.fromEntries(names.map((name) => [name, state[name]]));
}

/** @type {(one: State, other: State) => boolean} */
const alike = (one, other) =>
  Object.keys(one).every((name) => JSON.stringify(one[name]) === JSON.stringify(other[name]));

/**
 * The address of a page with the state of one of its figures in it.
 * @type {(page: string, id: string, state: State, rules: Rules) => string}
 */
function viewLink(page, id, state, rules) {
  const address = new URL(page);
  address.search = "";
  address.searchParams.set("figure", id);
  for (const [name, value] of Object.entries(settingsOf(state, rules, true))) {
    address.searchParams.set(name, typeof value === "string" ? value : JSON.stringify(value));
  }
  address.hash = id;
  return address.href;
}

/**
 * The figure that an address means. Older links say "view" for it; a figure may have a setting
 * of that name.
 * @type {(given: URLSearchParams) => string | null}
 */
const linkedFigure = (given) => given.get("figure") ?? given.get("view");

/** @type {(text: string) => unknown} */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * The state that an address holds for a figure: null if it is not the one meant, undefined if
 * something in it does not fit. Names that the figure does not know are not looked at.
 * @type {(page: string, id: string, rules: Rules) => State | null | undefined}
 */
function viewFrom(page, id, rules) {
  const given = new URL(page).searchParams;
  if (linkedFigure(given) !== id) return null;
  /** @type {State} */
  const state = {};
  for (const [name, rule] of Object.entries(rules)) {
    const text = given.get(name);
    if (text === null || rule.own) continue;
    const found = [text, text.length > LONGEST_VALUE ? undefined : parsed(text)];
    const value = found.find((one) => one !== undefined && fitsRule(one, rule));
    if (value === undefined) return undefined;
    state[name] = value;
  }
  return state;
}

/** Whether the address bar could be changed. @type {(to: string) => boolean} */
function showAddress(to) {
  try {
    history.replaceState(null, "", to);
    return true;
  } catch {
    return false; // some browsers refuse it for files
  }
}
