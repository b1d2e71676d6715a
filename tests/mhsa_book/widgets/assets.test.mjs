// Loading what is too large for a page, with a kernel that is a few lines long.

import assert from "node:assert/strict";
import test from "node:test";

import { loadAsset, sized, weight } from "../../../mhsa_book/widgets/shared/assets.js";

test("a size is said as a reader knows it", () => {
  const sizes = [48, 470_751, 999_499, 999_500, 60_000_000].map(sized);
  assert.deepEqual(sizes, ["0.048 kB", "471 kB", "999 kB", "1 MB", "60 MB"]);
});

/** A kernel that answers with some parts, and says more than it is asked for. */
function kernel(parts) {
  const listeners = new Set();
  return {
    asked: [],
    listeners,
    on: (_, listen) => listeners.add(listen),
    off: (_, listen) => listeners.delete(listen),
    send({ asset, part }) {
      this.asked.push(part);
      const answer = (key) => {
        const buffers = [new DataView(Uint8Array.from(parts[part] ?? []).buffer)];
        for (const listen of [...listeners]) listen({ asset: key, part }, buffers);
      };
      answer("another");
      queueMicrotask(() => answer(asset));
    },
  };
}

const asset = { key: "some-1", parts: 3, bytes: 5, files: 99 };
const load = (model, progress = () => {}, life = new AbortController()) =>
  loadAsset(asset, model, life.signal, progress);

test("where a kernel is, it sends part after part", async () => {
  const [model, seen] = [kernel([[1, 2], [3, 4], [5]]), []];
  assert.deepEqual([...(await load(model, (parts) => seen.push(parts)))], [1, 2, 3, 4, 5]);
  assert.deepEqual([model.asked, seen, model.listeners.size], [[0, 1, 2], [0, 1, 2, 3], 0]);
  assert.deepEqual([weight(asset, model), weight(asset, {})], [5, 99]);
});

test("an asset with other bytes than it should have is refused", async () => {
  await assert.rejects(load(kernel([[1, 2], [3, 4], []])), /some-1 does not have the 5 bytes/);
  await assert.rejects(
    load(
      kernel([
        [1, 2],
        [3, 4],
        [5, 6],
      ]),
    ),
    /does not have the 5 bytes/,
  );
});

test("a figure that is taken away stops waiting", async () => {
  const [model, life] = [kernel([]), new AbortController()];
  model.send = () => life.abort();
  await assert.rejects(
    load(model, () => {}, life),
    /taken away/,
  );
  assert.equal(model.listeners.size, 0);
});
