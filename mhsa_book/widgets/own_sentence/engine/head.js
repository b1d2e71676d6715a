// @ts-check
// What stands before the numbers of the model: what is in them, and the code that runs them.

/** [name, rows, columns, bits of a number] @typedef {[string, number, number, number]} Place */
/**
 * What stands before the numbers: all words of the tokenizer, where each tensor lies, the
 * sizes of the model, and the text of this engine.
 * @typedef {{ words: string[], tensors: Place[], sizes: { layers: number, heads: number,
 *   width: number, eps: number, tokens: number }, code: string }} Head
 */
/** The head, and where the numbers begin. @param {Uint8Array} data */
export function headOf(data) {
  const length = new DataView(data.buffer, data.byteOffset).getUint32(0, true);
  const text = new TextDecoder().decode(data.subarray(4, 4 + length));
  return { head: /** @type {Head} */ (JSON.parse(text)), from: 4 + length };
}
