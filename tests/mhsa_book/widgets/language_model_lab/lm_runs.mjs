// The page's language model in node: the path of its file, of the means of its heads, and whether
// WebAssembly may be used; then questions come as JSON lines. So do the answers, numbers in base64.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const ENGINE = "../../../../mhsa_book/widgets/language_model_lab/engine";
const { answersOf } = await import(`${ENGINE}/answers.js`);
const { bpeOf, idsIn, spelling, textOf } = await import(`${ENGINE}/bpe.js`);
const { contributions } = await import(`${ENGINE}/contributions.js`);
const { decoderOf, started } = await import(`${ENGINE}/llama.js`);
const { extend, logitsOf } = await import(`${ENGINE}/pass.js`);

const [path, pathOfMeans, simd] = process.argv.slice(2);
const before = process.memoryUsage().rss;
const from = performance.now();
const file = new Uint8Array(readFileSync(path));
const means = new Float32Array(new Uint8Array(readFileSync(pathOfMeans)).buffer);
const decoder = decoderOf(file, 192, simd === "simd");
const about = (name) => decoder.values[`tokenizer.ggml.${name}`];
const bpe = bpeOf({ tokens: about("tokens"), types: about("token_type"), merges: about("merges") });
const opened = performance.now() - from;
let answers = null;
let run = started(decoder);
let logits = new Float32Array();

const tasks = {
  tokens(text) {
    const ids = idsIn(text, bpe);
    return { ids, spelled: ids.map((id) => spelling(id, bpe)), text: textOf(ids, bpe) };
  },
  /** Read these ids, or read on where the last question ended. */
  pass(ids, off, further) {
    if (!further) run = started(decoder);
    extend(decoder, run, ids, new Map(off.map((head) => [head, new Float32Array(64)])));
    logits = logitsOf(decoder, run).slice();
    const size = (run.n * (run.n + 1)) / 2;
    return { logits, weights: run.weights.map((weights) => weights.slice(0, size)) };
  },
  /** Milliseconds of the layers and of the logits. */
  timed(ids, further) {
    if (!further) run = started(decoder);
    const start = performance.now();
    extend(decoder, run, ids);
    logitsOf(decoder, run);
    return performance.now() - start;
  },
  adds(ids) {
    return contributions(decoder, run, ids);
  },
  about: () => ({
    opened,
    wasm: decoder.products.wasm,
    memory: process.memoryUsage().rss - before,
  }),
  /** Billions of products a second in plain float32: how quick this machine is now. */
  float32() {
    const [rows, width] = [6_000, 576];
    const [matrix, x] = [new Float32Array(rows * width).fill(0.5), new Float32Array(width).fill(1)];
    let best = Infinity;
    for (let again = 0; again < 8; again += 1) {
      const start = performance.now();
      let all = 0;
      for (let at = 0; at < matrix.length; at += width) {
        let [a, b, c, d] = [0, 0, 0, 0];
        for (let i = 0; i < width; i += 4) {
          a += matrix[at + i] * x[i];
          b += matrix[at + i + 1] * x[i + 1];
          c += matrix[at + i + 2] * x[i + 2];
          d += matrix[at + i + 3] * x[i + 3];
        }
        all += a + b + c + d;
      }
      best = all > 0 ? Math.min(best, performance.now() - start) : best;
    }
    return (rows * width) / best / 1e6;
  },
  answer(question, ...rest) {
    answers ??= answersOf(file, means);
    return answers[question](...rest);
  },
};

const plain = (_, value) =>
  ArrayBuffer.isView(value)
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64")
    : value;
for await (const line of createInterface({ input: process.stdin })) {
  const [task, ...rest] = JSON.parse(line);
  process.stdout.write(`${JSON.stringify(tasks[task](...rest), plain)}\n`);
}
