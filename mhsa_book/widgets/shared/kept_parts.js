// @ts-check
// Parts of an asset that are read from the host of the page, and kept by the browser: the next time
// nothing travels.

const PLACE = "mhsa-assets";

/** Where a browser keeps files; null where it keeps none, as for a page from a file. */
async function opened() {
  try {
    return await caches.open(PLACE);
  } catch {
    return null;
  }
}

/**
 * Keep a part, and let go of what an older state of the same asset has left. Where there is no
 * room for it, the part is only not kept.
 * @type {(place: Cache, key: string, url: URL, answer: Response) => Promise<void>}
 */
async function keep(place, key, url, answer) {
  const name = `/${key.slice(0, key.lastIndexOf("-") + 1)}`;
  for (const { url: old } of await place.keys()) {
    if (old.includes(name) && !old.includes(`/${key}.`)) await place.delete(old);
  }
  await place.put(url, answer).catch(() => {});
}

/**
 * `file` is what the part is called in an error.
 * @type {(key: string, url: URL, file: string, signal: AbortSignal) => Promise<Uint8Array>}
 */
export async function partFromHost(key, url, file, signal) {
  const place = await opened();
  const known = await place?.match(url);
  if (known) return new Uint8Array(await known.arrayBuffer());
  const answer = await fetch(url, { signal });
  if (!answer.ok) throw new Error(`${file} is not beside this page.`);
  if (place) await keep(place, key, url, answer.clone());
  return new Uint8Array(await answer.arrayBuffer());
}
