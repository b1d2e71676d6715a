// @ts-check
// What was typed, whether it is right, and what a wrong answer hears.

/** A shape, a number or the text of an option. @typedef {number[] | number | string} Answer */
/** @typedef {{ given?: Answer, problem?: string }} Understood */

/** @type {(text: string) => string} */
const unread = (text) => (text ? `“${[...text].slice(0, 24).join("")}” cannot be read. ` : "");

/**
 * What was typed, as a shape or a number: { given }, or { problem } in words.
 * @type {(typed: string, answer: Answer) => Understood}
 */
export function understood(typed, answer) {
  const text = typed.trim().replaceAll("−", "-");
  const given = Array.isArray(answer) ? shapeIn(text) : numberIn(text);
  if (given !== null) return { given };
  const rule = Array.isArray(answer)
    ? "a shape, whole numbers with commas as in 5, 7"
    : "a number in digits, as in 12 or 0.5";
  return { problem: `${unread(text)}Type ${rule}.` };
}

/** @type {(text: string) => number[] | null} */
function shapeIn(text) {
  const inner = text
    .replace(/^torch\.Size/i, "")
    .replace(/^[([\s]+|[)\]\s]+$/g, "")
    .replace(/\s*,$/, "");
  const sizes = inner === "" ? [] : inner.split(/\s*[,;x×*·]\s*|\s+/i);
  const fits = text && sizes.every((part) => /^\d{1,15}$/.test(part));
  return fits ? sizes.map(Number) : null;
}

/** @type {(text: string) => number | null} */
function numberIn(text) {
  const thousands = /^-?[1-9]\d{0,2}([, ]\d{3})+(\.\d+)?$/.test(text);
  const digits = thousands ? text.replace(/[, ]/g, "") : text.replace(",", ".");
  const fits =
    /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(digits) && Number.isFinite(Number(digits));
  return fits ? Number(digits) : null;
}

/**
 * Exactly, but a number that is not whole may be 1 % off.
 * @type {(given: Answer, answer: Answer) => boolean}
 */
export function agrees(given, answer) {
  if (typeof answer === "number" && typeof given === "number" && !Number.isInteger(answer)) {
    return Math.abs(given - answer) <= 0.01 * Math.abs(answer);
  }
  return JSON.stringify(given) === JSON.stringify(answer);
}

/**
 * What is wrong, not what is right: the misconception if it is known, else a hint.
 * @type {(given: Answer, answer: Answer, wrong: [Answer, string][], axes: string[]) => string}
 */
export function hint(given, answer, wrong, axes) {
  const known = wrong.find(([mistake]) => agrees(given, mistake));
  if (known) return known[1];
  if (typeof answer === "number") return Number(given) < answer ? "It is more." : "It is less.";
  if (!Array.isArray(answer) || !Array.isArray(given)) return "";
  if (given.length !== answer.length) {
    return `Its number of axes is ${answer.length}, and yours ${given.length}.`;
  }
  /** @type {(sizes: number[]) => string} */
  const sorted = (sizes) => `${[...sizes].sort()}`;
  if (sorted(given) === sorted(answer)) return "The sizes are right, their order is not.";
  const axis = axes[answer.findIndex((size, i) => size !== given[i])];
  return axis ? `Look again at \`${axis}\`.` : "";
}
