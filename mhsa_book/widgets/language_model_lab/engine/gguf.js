// @ts-check
// What stands in a GGUF file: named values, and where each tensor begins. The file is read as it
// is; its numbers stay in the blocks that ggml packed them into.
// Source: ggml, docs/gguf.md, version 3.

/**
 * A tensor in the file: rows of `width` numbers in blocks of `bits` bits, `at` bytes from its
 * start.
 * @typedef {{ bits: number, rows: number, width: number, at: number }} Place
 */
/** @typedef {Record<string, any>} Values */

/** Bits of a number in the types that we know; 4 and 8 come in blocks with a scale. */
const BITS = new Map([
  [0, 32], // float32
  [3, 4], // Q4_1
  [8, 8], // Q8_0
]);
const ALIGNED = 32;

/** @param {Uint8Array} data */
export function opened(data) {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const decoder = new TextDecoder();
  let at = 0;
  /** @type {(size: number) => number} */
  const skip = (size) => (at += size) - size;
  const whole = () => Number(view.getBigUint64(skip(8), true));
  const small = () => view.getUint32(skip(4), true);
  function text() {
    const size = whole();
    return decoder.decode(data.subarray(skip(size), at));
  }
  /** Readers of the types of a value, by their number. @type {(() => any)[]} */
  const readers = [
    () => view.getUint8(skip(1)),
    () => view.getInt8(skip(1)),
    () => view.getUint16(skip(2), true),
    () => view.getInt16(skip(2), true),
    small,
    () => view.getInt32(skip(4), true),
    () => view.getFloat32(skip(4), true),
    () => view.getUint8(skip(1)) > 0,
    text,
    () => {
      const [kind, n] = [small(), whole()];
      return Array.from({ length: n }, readers[kind]);
    },
    whole,
    () => Number(view.getBigInt64(skip(8), true)),
    () => view.getFloat64(skip(8), true),
  ];
  const magic = decoder.decode(data.subarray(0, 4));
  skip(4);
  const version = small();
  if (magic !== "GGUF" || version !== 3)
    throw new Error("these bytes are no GGUF file (version 3)");
  const [tensors, n] = [whole(), whole()];
  const values = /** @type {Values} */ ({});
  for (let i = 0; i < n; i += 1) {
    const name = text();
    values[name] = readers[small()]();
  }
  const places = /** @type {Record<string, Place>} */ ({});
  for (let i = 0; i < tensors; i += 1) {
    const name = text();
    const [width, rows = 1] = Array.from({ length: small() }, whole);
    const bits = BITS.get(small());
    if (bits === undefined) throw new Error(`${name} is packed in a way that is not read here`);
    places[name] = { bits, rows, width, at: whole() };
  }
  const first = Math.ceil(at / ALIGNED) * ALIGNED;
  for (const place of Object.values(places)) place.at += first;
  return { values, places };
}
