// The page's MiniLM in node: the path of its asset, and calls of the reader and of the model come
// as JSON lines; so do the answers, numbers in base64.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

import { modelOf, passOf } from "../../../../mhsa_book/widgets/own_sentence/engine/model.js";
import { reader } from "../../../../mhsa_book/widgets/own_sentence/engine/reader.js";
import { tokenized } from "../../../../mhsa_book/widgets/own_sentence/engine/tokenizer.js";

const start = performance.now();
const model = modelOf(new Uint8Array(readFileSync(process.argv[2])));
const unpacked = performance.now() - start;
const questions = reader(model);
const passes = new Map();

const tasks = {
  ...questions,
  tokens: (text, most) => tokenized(text, model.vocabulary, most),
  /** The same heads off once more take the pass that is kept, as long as the text is the same. */
  pass(text, off) {
    const { ids } = tokenized(text, model.vocabulary, model.tokens);
    const earlier = passes.get(text);
    const pass = passOf(model, ids, new Set(off), earlier);
    if (!earlier) passes.set(text, pass);
    return { weights: pass.seen.map(({ weights }) => weights), vector: pass.vector };
  },
  unpacked: () => unpacked,
};

const plain = (_, value) =>
  ArrayBuffer.isView(value)
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64")
    : value;
for await (const line of createInterface({ input: process.stdin })) {
  const [task, ...about] = JSON.parse(line);
  const from = performance.now();
  const answer = tasks[task](...about);
  const milliseconds = performance.now() - from;
  process.stdout.write(`${JSON.stringify({ answer, milliseconds }, plain)}\n`);
}
