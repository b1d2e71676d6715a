// @ts-check
// Data that is too large for a page, loaded on request: from Python where a kernel is, elsewhere
// from scripts that lie beside the pages of the book. A page from a file may run these, too; one
// from a host reads the bytes themselves where they lie there, and the browser keeps them.

import { el } from "./elements.js";
import { partFromHost } from "./kept_parts.js";
import { bytes } from "./numbers.js";

/** @import { Model } from "./traits.js" */
/**
 * What Python says of an asset: its name, how large it is, as it is and as scripts, and whether
 * its bytes lie beside the page as they are, too.
 * @typedef {{ key: string, parts: number, bytes: number, files: number, plain?: boolean }} Asset
 */
/** Hears how many parts are there. @typedef {(parts: number) => void} Progress */

const FOLDER = "vendor/assets";
const page = /** @type {{ mhsaAssets?: Map<string, string> }} */ (globalThis);

/** Whether its bytes can be read from the host of the page. @type {(asset: Asset) => boolean} */
const readable = ({ plain }) => plain === true && location.protocol.startsWith("http");

/** Bytes that have to travel. @type {(asset: Asset, model: Model) => number} */
export const weight = (asset, model) => (model.send || readable(asset) ? asset.bytes : asset.files);

/** A size as a reader knows it from files: "471 kB", "45.2 MB" @type {(size: number) => string} */
export function sized(size) {
  const [count, unit] = size < 999_500 ? [size / 1e3, "kB"] : [size / 1e6, "MB"];
  return `${Number(count.toPrecision(3))} ${unit}`;
}

/**
 * All bytes of an asset, part after part; an Error in words where one is missing.
 * @type {(asset: Asset, model: Model, signal: AbortSignal, progress: Progress) =>
 *   Promise<Uint8Array<ArrayBuffer>>}
 */
export async function loadAsset(asset, model, signal, progress) {
  const all = new Uint8Array(asset.bytes);
  let at = 0;
  for (let part = 0; part < asset.parts; part += 1) {
    progress(part);
    const found = await partOf(asset, part, model, signal);
    signal.throwIfAborted();
    if (at + found.length > all.length) throw damaged(asset);
    all.set(found, at);
    at += found.length;
  }
  if (at < all.length) throw damaged(asset);
  progress(asset.parts);
  return all;
}

/**
 * @type {(asset: Asset, part: number, model: Model, signal: AbortSignal) => Promise<Uint8Array>}
 */
function partOf(asset, part, model, signal) {
  if (model.send) return fromPython(asset, part, model, signal);
  if (!readable(asset)) return fromScript(asset, part);
  const file = `${FOLDER}/${asset.key}.${part}.bin`;
  return partFromHost(asset.key, new URL(file, root()), file, signal);
}

/** Lets the page draw and listen before it goes on. */
export const pause = () => new Promise((done) => setTimeout(done));

/** @type {(asset: Asset) => Error} */
const damaged = ({ key, bytes }) => new Error(`${key} does not have the ${bytes} bytes it should.`);

/** Where the book begins, seen from this page; Sphinx writes it into each. */
function root() {
  const { content_root: folder = "./" } = document.documentElement.dataset;
  return new URL(folder, document.baseURI);
}

/** @type {(asset: Asset, part: number) => Promise<Uint8Array>} */
function fromScript({ key }, part) {
  const name = `${key}.${part}`;
  const file = `${FOLDER}/${name}.js`;
  const parts = (page.mhsaAssets ??= new Map());
  return new Promise((resolve, reject) => {
    const script = el("script", { src: new URL(file, root()).href });
    const miss = () => reject(new Error(`${file} is not beside this page.`));
    script.onload = () => {
      const text = parts.get(name);
      parts.delete(name);
      script.remove();
      if (text === undefined) miss();
      else resolve(bytes(text));
    };
    script.onerror = () => {
      script.remove();
      miss();
    };
    document.head.append(script);
  });
}

/**
 * @type {(asset: Asset, part: number, model: Model, signal: AbortSignal) => Promise<Uint8Array>}
 */
function fromPython({ key }, part, model, signal) {
  return new Promise((resolve, reject) => {
    /** @type {(said: { asset?: string, part?: number }, buffers: DataView[]) => void} */
    const hear = (said, buffers) => {
      if (said.asset !== key || said.part !== part) return;
      model.off("msg:custom", hear);
      resolve(bytes(buffers[0]));
    };
    model.on("msg:custom", hear);
    const leave = () => {
      model.off("msg:custom", hear);
      reject(new Error("The figure was taken away."));
    };
    signal.addEventListener("abort", leave, { once: true });
    model.send?.({ asset: key, part });
  });
}
