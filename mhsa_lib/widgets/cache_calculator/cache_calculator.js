// What decoding keeps for every token, and what that means for an accelerator.

import { choice, el, frame, grouped, spoken, watch, write, writeAll } from "../shared/kit.js";
import { lawInWords, sizeControls } from "../shared/sizes.js";
import { NUMBER_BYTES, kindOf } from "../shared/costs.js";
import { duration } from "../shared/roofline.js";
import { fits, memoryRows } from "../shared/memory.js";

const OWN = "own sizes";
const KINDS = ["MHA", "GQA", "MQA", "MLA"];
const CACHE_DIALS = {
  layers: 512,
  n_heads: 512,
  n_kv_heads: 512,
  d_head: 2048,
  d_latent: 16_384,
  d_rope: 2048,
};
const LOADS = { tokens: 16_777_216, sequences: 4096 };

/** Which of the four a layer is: the kind asked for, and by its heads if that is GQA. */
export function resolved(kind, { n_heads, n_kv_heads }) {
  if (kind === "GQA") return kindOf(n_heads, n_kv_heads);
  return kind === "MQA" && n_heads === 1 ? "MHA" : kind;
}

/** Numbers that each kind keeps of a token in one layer, kinds that are another's twin left out. */
export function numbersKept({ n_heads, n_kv_heads, d_head, d_latent, d_rope }) {
  const shared = { MHA: n_heads, [kindOf(n_heads, n_kv_heads)]: n_kv_heads, MQA: 1 };
  const all = {
    ...Object.fromEntries(
      Object.entries(shared).map(([kind, heads]) => [kind, 2 * heads * d_head]),
    ),
    MLA: d_latent + d_rope,
  };
  return Object.fromEntries(
    KINDS.filter((kind) => all[kind] && (kind !== "MQA" || n_heads > 1)).map((kind) => [
      kind,
      all[kind],
    ]),
  );
}

/** Everything the figure says about each kind: of a token, of all tokens, and on an accelerator. */
export function cacheOf(sizes, { tokens, sequences, itemsize }, { memory, bandwidth }) {
  return Object.entries(numbersKept(sizes)).map(([kind, numbers]) => {
    const token = sizes.layers * numbers * itemsize;
    const one = token * tokens;
    const total = one * sequences;
    return {
      kind,
      numbers,
      token,
      total,
      fit: Math.floor(memory / one),
      seconds: total / bandwidth,
    };
  });
}

/** "GQA: 8 of 32 heads" */
export function kindInWords(kind, { n_heads, n_kv_heads, d_latent, d_rope }) {
  if (kind === "MLA") return `MLA: latent ${grouped(d_latent)} + ${grouped(d_rope)}`;
  return `${kind}: ${grouped({ MHA: n_heads, GQA: n_kv_heads, MQA: 1 }[kind])} of ${grouped(n_heads)} heads`;
}

function render({ model: traits, el: root }) {
  const { body, signal, end } = frame(root, "cache-calculator");
  const [models, accelerators] = [traits.get("models"), traits.get("accelerators")];
  const names = Object.keys(CACHE_DIALS);
  const loads = Object.keys(LOADS);
  const known = () => models.find(({ name }) => name === traits.get("model"));
  const sizesNow = () =>
    known() ?? Object.fromEntries(names.map((name) => [name, traits.get(name)]));
  const ownKind = () => resolved(known()?.kind ?? "GQA", sizesNow());
  const asked = () => traits.get("kind") ?? known()?.kind ?? "GQA";
  const kindNow = () => resolved(asked(), sizesNow());
  const pick = (label, trait, options, change = (i) => write(traits, trait, options[i])) => ({
    trait,
    options,
    ...choice({
      label,
      options,
      value: Math.max(0, options.indexOf(traits.get(trait))),
      signal,
      change,
    }),
  });
  const model = pick("model", "model", [...models.map(({ name }) => name), OWN], (i) => {
    if (i === models.length) return own({});
    return writeAll(traits, { kind: null, model: models[i].name });
  });
  const kind = pick("kind", "kind", KINDS);
  const rest = [
    pick("dtype", "dtype", Object.keys(NUMBER_BYTES)),
    pick(
      "accelerator",
      "accelerator",
      accelerators.map(({ name }) => name),
    ),
  ];
  /** From here on the sizes are the reader's: those in sight, some of them changed. */
  const own = (changed) => {
    const kept = kindNow();
    const sizes = Object.entries({ ...sizesNow(), ...changed }).filter(([name]) =>
      names.includes(name),
    );
    writeAll(traits, {
      ...Object.fromEntries(sizes),
      kind: kept === "MLA" ? "MLA" : traits.get("kind"),
      model: OWN,
    });
  };
  const controls = sizeControls({
    most: { ...LOADS, ...CACHE_DIALS },
    signal,
    law: (sizes) => (asked() === "GQA" ? lawInWords(sizes) : ""),
    read: () =>
      Object.fromEntries([
        ...loads.map((name) => [name, traits.get(name)]),
        ...names.map((name) => [name, sizesNow()[name]]),
      ]),
    put: (changes) =>
      loads.some((name) => name in changes) ? writeAll(traits, changes) : own(changes),
  });
  const [bars, rows] = [el("tbody"), el("tbody")];
  const titles = [
    "",
    "numbers per token and layer",
    "bytes per token",
    "sequences that fit",
    "reading it once",
  ].map((title, i) =>
    el(i ? "th" : "td", { scope: i ? "col" : null, class: i ? "mhsa-number" : null }, title),
  );
  const picture = el(
    "div",
    {},
    el(
      "table",
      { class: "mhsa-memory", "aria-label": "The cache, beside the memory of the accelerator" },
      bars,
    ),
    el(
      "div",
      { class: "mhsa-scroll", tabindex: 0, role: "group", "aria-label": "Numbers" },
      el(
        "table",
        { "aria-label": "What each kind keeps" },
        el("thead", {}, el("tr", {}, titles)),
        rows,
      ),
    ),
  );
  const said = spoken();
  const note = el("p", { class: "mhsa-quiet" });
  body.append(
    el(
      "div",
      { class: "mhsa-controls mhsa-columns" },
      model.node,
      kind.node,
      rest.map(({ node }) => node),
      Object.values(controls.nodes),
    ),
    controls.notice,
    picture,
    said.node,
    note,
  );

  function draw() {
    const sizes = sizesNow();
    model.show(model.options.indexOf(traits.get("model")));
    for (const { trait, options, show } of rest) show(options.indexOf(traits.get(trait)));
    const valid = controls.draw();
    controls.nodes.n_kv_heads.hidden = asked() !== "GQA";
    picture.hidden = !valid && !rows.hasChildNodes();
    if (!valid) return;
    const accelerator = accelerators.find(({ name }) => name === traits.get("accelerator"));
    const load = {
      tokens: traits.get("tokens"),
      sequences: traits.get("sequences"),
      itemsize: NUMBER_BYTES[traits.get("dtype")],
    };
    const found = cacheOf(sizes, load, accelerator);
    const [chosen, configured] = [kindNow(), known() && ownKind()];
    kind.show(KINDS.indexOf(chosen));
    KINDS.forEach((name, i) => {
      kind.select.options[i].disabled = !found.some((row) => row.kind === name);
    });
    const label = (row) =>
      kindInWords(row.kind, sizes) + (row.kind === configured ? ", configured" : "");
    bars.replaceChildren(
      ...memoryRows(
        found.map((row) => [label(row), row.total, row.kind === chosen]),
        accelerator.memory,
      ),
    );
    rows.replaceChildren(...found.map((row) => kindLine(row, row.kind === chosen)));
    said.say(
      inWords(
        found.find((row) => row.kind === chosen),
        sizes,
        load,
        accelerator,
      ),
    );
    note.textContent = noted(known());
  }

  watch(traits, ["model", "kind", "dtype", "accelerator", ...names, ...loads], draw, signal);
  draw();
  return end;
}

function kindLine({ kind, numbers, token, fit, seconds }, chosen) {
  const number = (text) => el("td", { class: "mhsa-number" }, text);
  return el(
    "tr",
    { class: chosen ? "mhsa-chosen" : null },
    el("th", { scope: "row" }, kind),
    number(grouped(numbers)),
    number(grouped(token)),
    number(grouped(fit)),
    number(duration(seconds)),
  );
}

/** The chosen kind in a few sentences. */
export function inWords(
  { kind, numbers, token, total, fit, seconds },
  sizes,
  { tokens, sequences },
  accelerator,
) {
  const many = (count, word) => `${grouped(count)} ${word}${count === 1 ? "" : "s"}`;
  return (
    `${kindInWords(kind, sizes)} keeps ${grouped(numbers)} numbers of a token in each of ${many(sizes.layers, "layer")}, `
    + `${many(token, "byte")} in all. ${fits(total, accelerator)} That is for ${many(sequences, "sequence")} of `
    + `${many(tokens, "token")}; without weights and anything else there is room for ${grouped(fit)}. `
    + `Every step of decoding reads the cache, which takes ${duration(seconds)} or more.`
  );
}

function noted(model) {
  const compared = "The other kinds are what the same heads would keep";
  if (!model) return `MLA keeps d_latent + d_rope. ${compared}.`;
  const latent =
    model.kind === "MLA"
      ? "8 heads stand for GQA."
      : "the latent is 4 d_head wide and the rotated key d_head / 2, the widths that DeepSeek-V2 chose.";
  return `Sizes: ${model.source}. ${compared}; ${latent}${model.note ? ` In this model ${model.note}.` : ""}`;
}

export default { render };
