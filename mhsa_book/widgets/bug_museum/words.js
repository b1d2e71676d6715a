// @ts-check
// What the museum says about an exhibit.

/**
 * @typedef {{ name: string, title: string, stage: string, symptom: string, diff: string[],
 *   check: string, error: string, shares: Record<string, (number | null)[]>,
 *   losses: (number | null)[][], map: string | null, right: number,
 *   found: { url: string, project: string, what: string, exact: boolean }[] }} Exhibit
 */

export const ANY = "any";

/** Names with spaces, as one reads them. @type {(name: string) => string} */
export const spaced = (name) => name.replaceAll("_", " ").replace("W O", "W_O");

/** What each share was measured on. @type {Record<string, string>} */
export const SHARES = {
  read: "trained so, the text given",
  written: "trained so, writing by itself",
  borrowed: "with the right one's weights",
};

/** @type {(share: number | null) => string} */
export const percent = (share) => (share === null ? "error" : `${Math.round(100 * share)} %`);

/**
 * The exhibits that have a symptom and a stage.
 * @type {(exhibits: Exhibit[], symptom: string, stage: string) => Exhibit[]}
 */
export const offered = (exhibits, symptom, stage) =>
  exhibits.filter(
    (each) =>
      (symptom === ANY || each.symptom === symptom) && (stage === ANY || each.stage === stage),
  );

/** Why there is no line. @type {(each: Exhibit) => string} */
export function outcome(each) {
  if (each.losses.every((row) => row.length === 0)) return " The mistake cannot be trained.";
  const last = each.losses.map((row) => row[row.length - 1]);
  return last.includes(null) ? " With the mistake the loss becomes NaN." : "";
}

/** The exhibit in one sentence or two. @type {(each: Exhibit, says: string) => string} */
export const described = (each, says) => `${each.title} ${says}`;
