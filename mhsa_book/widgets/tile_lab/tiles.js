// @ts-check
// The tiles of a table, which of them a mask skips, and the bytes that the loop moves: the numbers
// of mhsa_book.costs.tiles.

/** How far ahead of a query, and behind it, keys may be. @typedef {[number, number]} Band */
/** @typedef {{ q_z: number, k_v: number, tables: number }} MovedBytes */
/**
 * A tile of queries: its first tile of keys, the end of them, and how many of these ask the mask.
 * @typedef {{ first: number, end: number, partial: number }} TileRow
 */
/** @typedef {{ n: number, d_head: number, tile: number, band: Band }} Plan */

const ITEMSIZE = 4;

/** @type {(mask: string, n: number) => Band} */
export function bandOf(mask, n) {
  if (mask === "none") return [n, n];
  return [0, mask === "window" ? n / 4 - 1 : n];
}

/** @type {(tile: number, d_head: number) => number} */
export const fastBytes = (tile, d_head) => ITEMSIZE * (4 * tile * d_head + tile * tile + 2 * tile);

/**
 * The largest power of two up to `n` that fits; 0 if one query and one key do not.
 * @type {(memory: number, n: number, d_head: number) => number}
 */
export function largestTile(memory, n, d_head) {
  if (memory < fastBytes(1, d_head)) return 0;
  let tile = 1;
  while (2 * tile <= n && fastBytes(2 * tile, d_head) <= memory) tile *= 2;
  return tile;
}

/**
 * Whether some query of a tile may look at some key, and whether all may look at all.
 * @type {(row: number, column: number, tile: number, band: Band) =>
 *   { some: boolean, all: boolean }}
 */
export function kindOfTile(row, column, tile, [ahead, behind]) {
  const from = (column - row) * tile;
  const [nearest, farthest] = [from - tile + 1, from + tile - 1];
  const some = nearest <= ahead && farthest >= -behind;
  return { some, all: farthest <= ahead && nearest >= -behind };
}

/** Go through all tiles, those that are skipped included. @type {(plan: Plan) => TileRow[]} */
export function rowsOf({ n, tile, band }) {
  const side = n / tile;
  /** @type {TileRow[]} */
  const rows = [];
  for (let i = 0; i < side; i += 1) {
    const row = { first: -1, end: 0, partial: 0 };
    for (let j = 0; j < side; j += 1) {
      const { some, all } = kindOfTile(i, j, tile, band);
      if (some) {
        if (row.first < 0) row.first = j;
        row.end = j + 1;
        if (!all) row.partial += 1;
      }
    }
    rows.push(row);
  }
  return rows;
}

/** How many tiles are computed. @type {(rows: TileRow[]) => number} */
export const computedOf = (rows) => rows.reduce((sum, { first, end }) => sum + end - first, 0);

/**
 * Where the loop is at a step: its tile, and whether it is the last one of its queries.
 * @type {(rows: TileRow[], step: number) => { row: number, column: number, last: boolean }}
 */
export function placeOf(rows, step) {
  let [row, left] = [0, step];
  while (left >= rows[row].end - rows[row].first) {
    left -= rows[row].end - rows[row].first;
    row += 1;
  }
  const column = rows[row].first + left;
  return { row, column, last: column === rows[row].end - 1 };
}

/**
 * Bytes read and written up to a step, that one included: each tile of queries once, keys and
 * values of every tile, and z when a tile of queries is through.
 * @type {(plan: Plan, rows: TileRow[], step: number) => MovedBytes}
 */
export function movedUpTo({ d_head, tile }, rows, step) {
  const { row, last } = placeOf(rows, step);
  const part = tile * d_head * ITEMSIZE;
  return { q_z: part * (2 * row + (last ? 2 : 1)), k_v: 2 * part * (step + 1), tables: 0 };
}

/** Scores and weights are written, and read once each. @type {(plan: Plan) => MovedBytes} */
export function movedByStages({ n, d_head }) {
  const part = 2 * n * d_head * ITEMSIZE;
  return { q_z: part, k_v: part, tables: 4 * n * n * ITEMSIZE };
}

/** @type {(moved: MovedBytes) => number} */
export const together = ({ q_z, k_v, tables }) => q_z + k_v + tables;
