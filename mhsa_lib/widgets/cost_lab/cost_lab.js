// Attention of a real model on a real accelerator: what it holds, and what limits each stage.

import { dial } from "../shared/dial.js";
import {
  check,
  choice,
  el,
  fixed,
  frame,
  grouped,
  notice,
  short,
  spoken,
  watch,
  write,
  writeAll,
} from "../shared/kit.js";
import {
  NUMBER_BYTES,
  PHASES,
  VARIANTS,
  binary,
  costOf,
  kindOf,
  kvHeads,
} from "../shared/costs.js";
import { fits, memoryRows } from "../shared/memory.js";
import { duration, regime, roofline } from "../shared/roofline.js";

function render({ model: traits, el: root }) {
  const { body, signal, end } = frame(root, "cost-lab");
  const [models, accelerators] = [traits.get("models"), traits.get("accelerators")];
  const names = (list) => list.map(({ name }) => name);
  const pick = (label, trait, options, change = (value) => put(trait, value)) => ({
    trait,
    options,
    ...choice({
      label,
      options,
      value: options.indexOf(traits.get(trait)),
      signal,
      change: (i) => change(options[i]),
    }),
  });
  const place = notice({ signal });
  let moved = { words: "" };
  /** What moved along is said until the next change. */
  const put = (trait, value) => {
    moved.words = "";
    write(traits, trait, value);
  };
  /** The dtype moves along to the first that the accelerator has, and on the way back comes back. */
  function setAccelerator(name) {
    const [{ peak }, before] = [accelerators.find((one) => one.name === name), traits.get("dtype")];
    const wish = before === moved.dtype ? moved.wish : before;
    const dtype = peak[wish] ? wish : Object.keys(peak)[0];
    const why = dtype === wish ? "as before" : `the ${lacks(name, before)}`;
    moved = {
      accelerator: name,
      dtype,
      wish,
      words: dtype === before ? "" : `dtype ${before} → ${dtype}: ${why}.`,
    };
    writeAll(traits, { accelerator: name, dtype });
  }
  const choices = [
    pick("model", "model", names(models)),
    pick("n_kv_heads", "variant", VARIANTS),
    pick("phase", "phase", PHASES),
    pick("accelerator", "accelerator", names(accelerators), setAccelerator),
    pick("dtype", "dtype", ["bfloat16", "float16", "float32"]),
    pick("cache dtype", "cache_dtype", Object.keys(NUMBER_BYTES)),
  ];
  const dials = ["context", "batch"].map((trait) => ({
    trait,
    ...dial({
      label: trait,
      unit: { context: "token", batch: "sequence" }[trait],
      max: { context: 1_048_576, batch: 1024 }[trait],
      value: traits.get(trait),
      signal,
      change: (size) => put(trait, size),
      wrong: place.wrong,
    }),
  }));
  const dtypes = choices.find(({ trait }) => trait === "dtype");
  const fused = check({
    label: "fused: scores never reach memory",
    value: traits.get("fused"),
    signal,
    change: (on) => put("fused", on),
  });
  const [memory, stages] = [el("tbody"), el("tbody")];
  const roof = el("div", { class: "mhsa-roof" });
  const said = spoken();
  const note = el("p", { class: "mhsa-quiet" });
  const titles = ["stage", "FLOPs", "bytes", "FLOP/byte", "limit", "least time"].map((title, i) =>
    el("th", { scope: "col", class: i && i !== 4 ? "mhsa-number" : null }, title),
  );
  const limits = el(
    "div",
    { class: "mhsa-scroll", tabindex: 0, role: "group", "aria-label": "Stages" },
    el(
      "table",
      { "aria-label": "The three stages, all layers" },
      el("thead", {}, el("tr", {}, titles)),
      stages,
    ),
  );
  body.append(
    el(
      "div",
      { class: "mhsa-controls mhsa-columns" },
      choices.map(({ node }) => node),
      dials.map(({ node }) => node),
      fused.node,
    ),
    place.node,
    el(
      "table",
      { class: "mhsa-memory", "aria-label": "Bytes, beside the memory of the accelerator" },
      memory,
    ),
    roof,
    limits,
    said.node,
    note,
  );

  function draw() {
    const state = Object.fromEntries(
      [...choices, ...dials].map(({ trait }) => [trait, traits.get(trait)]),
    );
    for (const { trait, options, show } of choices) show(options.indexOf(state[trait]));
    for (const { trait, show } of dials) show(state[trait]);
    fused.show(traits.get("fused"));
    const model = models.find(({ name }) => name === state.model);
    const accelerator = accelerators.find(({ name }) => name === state.accelerator);
    VARIANTS.forEach((variant, i) => {
      choices[1].select.options[i].textContent = variantName(model, variant);
    });
    const cost = costOf({ ...state, model, accelerator, fused: traits.get("fused") });
    for (const option of dtypes.select.options) option.disabled = !accelerator.peak[option.value];
    const others = Object.keys(accelerator.peak);
    place.say(
      cost.peak
        ? {
            along:
              moved.accelerator === accelerator.name && moved.dtype === state.dtype
                ? moved.words
                : "",
          }
        : {
            wrong: `The ${lacks(accelerator.name, state.dtype)}; choose ${others.join(" or ")}.`,
            offers: others.map((dtype) => [`dtype = ${dtype}`, () => put("dtype", dtype)]),
          },
    );
    memory.replaceChildren(...memoryRows(needs(cost, model, state), accelerator.memory));
    for (const part of [roof, limits]) part.hidden = !cost.peak;
    note.textContent = notes(model, accelerator);
    if (!cost.peak) return said.say(fits(cost.caches[state.variant], accelerator));
    roof.replaceChildren(roofline(cost, accelerator, state.phase, roof.clientWidth || 600));
    const mine = cost.stages.filter(({ phase }) => phase === state.phase);
    stages.replaceChildren(...mine.map((work) => stageRow(work, model.layers)));
    return said.say(
      `${sizesInWords(model, state)} on the ${accelerator.name}, whose ridge is ${grouped(mine[0].ridge)}: `
        + `${mine.map(regime).join("; ")}. ${fits(cost.caches[state.variant], accelerator)}`,
    );
  }

  watch(traits, [...choices.map(({ trait }) => trait), "context", "batch", "fused"], draw, signal);
  const resized = new ResizeObserver(draw);
  signal.addEventListener("abort", () => resized.disconnect());
  draw();
  resized.observe(roof);
  return end;
}

const lacks = (accelerator, dtype) => `${accelerator} has no tensor cores for ${dtype}`;

function variantName(model, variant) {
  const kv = kvHeads(model, variant);
  const told = variant === "as configured" ? ", configured" : "";
  return `${kindOf(model.n_heads, kv)}: ${kv} of ${model.n_heads}${told}`;
}

function sizesInWords(model, { variant, phase, context, batch, dtype, cache_dtype }) {
  const cached = cache_dtype === dtype ? "" : `, cache in ${cache_dtype}`;
  return (
    `${phase === "decode" ? "One token" : "The prompt"} of ${model.name}, ${variantName(model, variant)}, `
    + `${grouped(context)} tokens, batch ${grouped(batch)}, ${dtype}${cached},`
  );
}

function notes(model, accelerator) {
  const own = model.note ? ` ${model.name}: ${model.note}.` : "";
  return (
    "Nothing is masked: a causal kernel that skips forbidden blocks needs half of the prefill's scores and mix. "
    + `Every byte moves once, and real kernels stay below the roof. Sizes: ${model.source}. `
    + `${accelerator.name}: ${accelerator.source}.${own}`
  );
}

/** What needs memory: weights, activations, and the cache of each variant that differs. */
function needs(cost, model, { variant, phase }) {
  const kept = VARIANTS.filter(
    (name) => name === variant || kvHeads(model, name) !== kvHeads(model, variant),
  ).filter(
    (name, i, all) =>
      all.findIndex((other) => kvHeads(model, other) === kvHeads(model, name)) === i,
  );
  return [
    ["four projections, all layers", cost.weights, true],
    [`activations of one layer, ${phase}`, cost.activations, true],
    ...kept.map((name) => [
      `cache, ${variantName(model, name)}`,
      cost.caches[name],
      name === variant,
    ]),
  ];
}

function stageRow({ stage, flops, bytes: moved, intensity, limit, seconds }, layers) {
  const number = (text) => el("td", { class: "mhsa-number" }, text);
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, stage),
    number(short(layers * flops)),
    number(binary(layers * moved)),
    number(intensity < 100 ? fixed(intensity, 1) : short(Math.round(intensity))),
    el("td", {}, limit),
    number(duration(layers * seconds)),
  );
}

export default { render };
