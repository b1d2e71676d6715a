// @ts-check
// Numbers in words, and as they travel.

/** @type {(value: number, least: number, most: number) => number} */
export function clamp(value, least, most) {
  return Math.min(most, Math.max(least, value));
}

/** @type {(numbers: ArrayLike<number> & Iterable<number>) => number} */
export const total = (numbers) => {
  let sum = 0;
  for (const number of numbers) sum += number;
  return sum;
};

/** The numbers from 0 on. @type {(n: number) => number[]} */
export const upTo = (n) => Array.from({ length: n }, (_, i) => i);

/**
 * A number with so many decimals, a true minus sign, and no minus zero.
 * @type {(value: number, decimals?: number) => string}
 */
export function fixed(value, decimals = 2) {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const text = value.toFixed(decimals);
  return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "−");
}

/**
 * A count in at most four digits: exact below ten thousand, then k, M, G …
 * @type {(count: number) => string}
 */
export function short(count) {
  if (count < 10_000) return `${count}`;
  const thousands = Math.min(Math.floor((`${Math.round(count * 1.0005)}`.length - 1) / 3), 6);
  return `${Number((count / 1000 ** thousands).toPrecision(3))} ${" kMGTPE"[thousands]}`;
}

/** A count with its thousands apart. @type {(count: number) => string} */
export function grouped(count) {
  return Math.round(count).toLocaleString("en-US");
}

/** "1 head", "12 heads" @type {(count: number, unit: string) => string} */
export const counted = (count, unit) => `${grouped(count)} ${unit}${count === 1 ? "" : "s"}`;

/** Bytes in three digits with a binary prefix. @type {(count: number) => string} */
export function binary(count) {
  const names = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  let [size, prefix] = [count, 0];
  while (size >= 1023.5 && prefix < 6) [size, prefix] = [size / 1024, prefix + 1];
  return `${Number(size.toPrecision(size < 1000 ? 3 : 4))} ${names[prefix]}`;
}

/** A time in three digits with a unit; days may have more. @type {(seconds: number) => string} */
export function duration(seconds) {
  const [factor, unit] = unitOfTime(seconds);
  const value = seconds * factor;
  return `${value < 1000 ? Number(value.toPrecision(3)) : grouped(value)} ${unit}`;
}

/** @type {(seconds: number) => [factor: number, unit: string]} */
function unitOfTime(seconds) {
  if (seconds < 1e-3) return [1e6, "µs"];
  if (seconds < 1) return [1e3, "ms"];
  return seconds < 86_400 ? [1, "s"] : [1 / 86_400, "days"];
}

/**
 * The bytes of a value: base64 on a static page, a DataView where a kernel is.
 * @type {(value: string | DataView) => Uint8Array}
 */
export function bytes(value) {
  if (typeof value !== "string") {
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  }
  const text = atob(value);
  const all = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) all[i] = text.charCodeAt(i);
  return all;
}
