// @ts-check
// A translation beside the right one: which words are wrong, which are missing, which too many.

/**
 * One step through both: positions of what was said and what is right; null where there is none.
 * @typedef {{ said: number | null, right: number | null, wrong: boolean }} Step
 */

/**
 * The fewest mistakes that lead from the right words to those that were said, in order.
 * @type {(said: string[], right: string[]) => Step[]}
 */
export function compared(said, right) {
  // fewest[i][j]: mistakes between what follows from i and from j on
  const fewest = Array.from({ length: said.length + 1 }, () => Array(right.length + 1).fill(0));
  for (let i = said.length; i >= 0; i -= 1) {
    for (let j = right.length; j >= 0; j -= 1) {
      const left = [said.length - i, right.length - j];
      if (Math.min(...left) === 0) fewest[i][j] = Math.max(...left);
      else
        fewest[i][j] = Math.min(
          ...choices(i, j).map(([di, dj, cost]) => cost + fewest[i + di][j + dj]),
        );
    }
  }
  /** @type {(i: number, j: number) => [di: number, dj: number, mistakes: number][]} */
  function choices(i, j) {
    return [
      [1, 1, said[i] === right[j] ? 0 : 1],
      [1, 0, 1],
      [0, 1, 1],
    ];
  }
  const steps = /** @type {Step[]} */ ([]);
  let [i, j] = [0, 0];
  while (i < said.length || j < right.length) {
    const possible = choices(i, j).filter(
      ([di, dj]) => i + di <= said.length && j + dj <= right.length,
    );
    const [di, dj, cost] = /** @type {number[]} */ (
      possible.find(([di, dj, cost]) => cost + fewest[i + di][j + dj] === fewest[i][j])
    );
    steps.push({ said: di ? i : null, right: dj ? j : null, wrong: cost > 0 });
    [i, j] = [i + di, j + dj];
  }
  return steps;
}
