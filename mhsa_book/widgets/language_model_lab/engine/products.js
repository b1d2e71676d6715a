// @ts-check
// The products of the model: vectors times a matrix whose numbers stay in their blocks. A row is
// unpacked into `row` and then meets every vector; kernel.wat does the same four numbers at once.

import { KERNEL } from "./kernel.js";

/** @import { Place } from "./gguf.js" */
/**
 * Memory that holds the file from its first byte on and then `room` numbers, and what works in it.
 * `times` gives for every vector of `x` its product with each row of a matrix, one vector after
 * the other; `unpack` one row of a matrix.
 * @typedef {{ memory: ArrayBuffer, wasm: boolean,
 *   floats: (n: number) => Float32Array, release: () => void,
 *   times: (matrix: Place, x: Float32Array, y: Float32Array) => Float32Array,
 *   unpack: (matrix: Place, row: number, into: Float32Array) => Float32Array }} Products
 */

const PAGE = 65_536; // bytes of a page of WebAssembly's memory
const BLOCK = 32; // numbers
const LONGEST_ROW = 8_192;

/** Bytes of a block. @type {Record<number, number>} */
const SIZE = { 4: 20, 8: 34, 32: 4 * BLOCK };

/** What each of the 65,536 numbers in half precision is worth. */
const HALVES = Float32Array.from({ length: 65_536 }, (_, bits) => {
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  const size = exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24;
  return bits >> 15 ? -size : size;
});

/** A half, low byte first. @type {(data: Uint8Array, at: number) => number} */
const half = (data, at) => HALVES[data[at] | (data[at + 1] << 8)];

/** @type {(data: Uint8Array, place: Place, i: number, into: Float32Array) => void} */
function unpackRow(data, { bits, width, at }, i, into) {
  const size = SIZE[bits];
  let from = at + (i * width * size) / BLOCK;
  for (let to = 0; to < width; to += BLOCK, from += size) {
    const scale = half(data, from);
    if (bits === 8) {
      for (let k = 0; k < BLOCK; k += 1) into[to + k] = scale * ((data[from + 2 + k] << 24) >> 24);
      continue;
    }
    const least = half(data, from + 2);
    for (let k = 0; k < BLOCK / 2; k += 1) {
      const two = data[from + 4 + k];
      into[to + k] = scale * (two & 15) + least;
      into[to + BLOCK / 2 + k] = scale * (two >> 4) + least;
    }
  }
}

/** @type {(row: Float32Array, x: Float32Array, from: number) => number} */
function dot(row, x, from) {
  let [a, b, c, d] = [0, 0, 0, 0];
  for (let i = 0; i < row.length; i += 4) {
    a += row[i] * x[from + i];
    b += row[i + 1] * x[from + i + 1];
    c += row[i + 2] * x[from + i + 2];
    d += row[i + 3] * x[from + i + 3];
  }
  return a + b + (c + d);
}

/** Plain JavaScript, for a browser without SIMD. @type {(data: Uint8Array) => Products["times"]} */
const plainTimes = (data) => (matrix, x, y) => {
  const { rows, width } = matrix;
  const row = new Float32Array(width);
  for (let i = 0; i < rows; i += 1) {
    unpackRow(data, matrix, i, row);
    for (let from = 0, to = i; from < x.length; from += width, to += rows)
      y[to] = dot(row, x, from);
  }
  return y;
};

/**
 * WebAssembly's, or nothing where the browser has none with SIMD.
 * @type {(memory: WebAssembly.Memory, scratch: number) => Products["times"] | null}
 */
function quickTimes(memory, scratch) {
  try {
    const code = Uint8Array.from(atob(KERNEL), (letter) => letter.charCodeAt(0));
    const made = new WebAssembly.Instance(new WebAssembly.Module(code), { page: { memory } });
    const times = /** @type {Function} */ (made.exports.times);
    return ({ bits, at, rows, width }, x, y) => {
      const n = x.length / width;
      times(bits, at, rows, width, x.byteOffset, n, y.byteOffset, scratch);
      return y;
    };
  } catch {
    return null;
  }
}

/** @type {(bytes: number) => { buffer: ArrayBuffer, memory: WebAssembly.Memory | null }} */
function memoryOf(bytes) {
  if (typeof WebAssembly === "undefined") return { buffer: new ArrayBuffer(bytes), memory: null };
  const memory = new WebAssembly.Memory({ initial: Math.ceil(bytes / PAGE) });
  return { buffer: memory.buffer, memory };
}

/**
 * @param {Uint8Array} file @param {number} room in numbers @param {boolean} simd
 * @returns {Products}
 */
export function productsIn(file, room, simd = true) {
  const scratch = Math.ceil(file.length / 16) * 16;
  const first = scratch + 4 * LONGEST_ROW;
  const { buffer, memory } = memoryOf(first + 4 * room);
  const data = new Uint8Array(buffer);
  data.set(file);
  const quick = simd && memory ? quickTimes(memory, scratch) : null;
  let at = first;
  return {
    memory: buffer,
    wasm: quick !== null,
    floats(n) {
      if (at + 4 * n > buffer.byteLength)
        throw new RangeError("there is no room for so many tokens");
      at += 4 * n;
      return new Float32Array(buffer, at - 4 * n, n).fill(0);
    },
    release() {
      at = first;
    },
    times: quick ?? plainTimes(data),
    unpack(matrix, row, into) {
      unpackRow(data, matrix, row, into);
      return into;
    },
  };
}
