// The pass in nine steps with all its numbers: point at one, and those it came from light up.

import {
  button,
  choice,
  clamp,
  el,
  frame,
  notice,
  rove,
  spoken,
  uid,
  watch,
  write,
  writeAll,
} from "../shared/kit.js";
import {
  AXES,
  INPUTS,
  ancestors,
  arithmetic,
  forward,
  numberAt,
  parents,
  placeName,
  typedNumber,
} from "../shared/provenance.js";
import { MASKS, STEPS, before, denseMask, makes, maskName } from "./steps.js";
import { makeSheets } from "../shared/sheets.js";

const LARGEST = 100;
const HINT =
  "Point at a number, or reach it with Tab and the arrow keys, to see where it comes from. "
  + "Dotted numbers can be changed: click, or press Enter.";

function render({ model, el: root }) {
  const { body, signal, end } = frame(root, "stage-stepper");
  body.classList.add("mhsa-stepper");
  const read = () =>
    Object.fromEntries([...INPUTS, "mask", "n_heads"].map((name) => [name, model.get(name)]));
  const index = () => STEPS.findIndex(({ step }) => step === model.get("step"));
  let wires = forward(read());
  let [pointed, arranged] = [null, null];

  // --- what the reader changes
  function go(i) {
    pointed = null;
    write(model, "selected", []);
    write(model, "step", STEPS[i].step);
  }
  function change([name, row, column], value) {
    const rows = model.get(name);
    write(model, name, rows.with(row, rows[row].with(column, value)));
  }
  function chooseMask(name) {
    if (name in MASKS) write(model, "mask", denseMask(name, wires.mask.length));
    else go(STEPS.findIndex(({ step }) => step === "mask"));
    draw();
  }
  function restart() {
    writeAll(model, model.get("start"));
  }

  // --- elements, built once
  const back = button({ label: "← Previous", signal, press: () => go(index() - 1) });
  const next = button({ label: "Next →", signal, press: () => go(index() + 1) });
  const reset = button({ label: "Reset", signal, press: restart });
  const steps = STEPS.map(({ step }, i) => button({ label: step, signal, press: () => go(i) }));
  rove(steps, steps.length, signal);
  const names = [...Object.keys(MASKS), "my own"];
  const masks = choice({
    label: "mask",
    options: names,
    value: 0,
    signal,
    change: (i) => chooseMask(names[i]),
  });
  const [says, note, mistake] = [
    el("p", { class: "mhsa-says" }),
    el("p", { class: "mhsa-note" }),
    notice({ signal }),
  ];
  const [panel, earlier] = [
    el("div", { class: "mhsa-panel" }),
    el("div", { class: "mhsa-earlier" }),
  ];
  const sofar = el("details", { open: "" }, el("summary", {}, "Earlier in the pass"), earlier);
  const id = uid();
  const [label, typed] = [
    el("label", { for: id }),
    el("input", { type: "text", id, inputmode: "decimal", autocomplete: "off" }),
  ];
  const field = el("span", { class: "mhsa-field" }, label, typed);
  const said = spoken();
  const sheets = makeSheets({
    wires,
    axes: AXES,
    open: [...INPUTS, "mask"],
    colours: model.get("colours"),
    signal,
    select: (place) => write(model, "selected", place),
  });
  body.append(
    el("div", { class: "mhsa-controls" }, back, next, reset, masks.node),
    el(
      "ol",
      { class: "mhsa-steps", "aria-label": "Steps of the pass" },
      steps.map((one) => el("li", {}, one)),
    ),
    says,
    note,
    panel,
    el("div", { class: "mhsa-bar" }, said.node, field, mistake.node),
    sofar,
    el("p", { class: "mhsa-hint" }, HINT),
  );

  // --- pointing and typing
  const at = (event) => sheets.cells.get(event.target.closest("td")?.dataset.place)?.place ?? null;
  const point = (place) => {
    if (place?.join() === pointed?.join()) return;
    pointed = place;
    light();
  };
  const edit = () => {
    typed.focus();
    typed.select();
  };
  /** The nearest number that is taken, or the one that stands there. */
  const repair = () => {
    const [at, wished] = [
      model.get("selected"),
      typed.value.trim() === "" ? NaN : Number(typed.value.replace("−", "-").replace(",", ".")),
    ];
    const near = Number.isFinite(wished) ? clamp(wished, -LARGEST, LARGEST) : numberAt(wires, at);
    return [
      `${placeName(at)} = ${`${near}`.replace("-", "−")}`,
      () => {
        change(at, near);
        sheets.cells.get(at.join(" ")).td.focus();
        light();
      },
    ];
  };
  const toggle = (place) => change(place, !numberAt(wires, place));
  body.addEventListener("pointerover", (event) => point(at(event)), { signal });
  body.addEventListener("pointerleave", () => point(null), { signal });
  body.addEventListener(
    "click",
    (event) => {
      const place = at(event);
      if (place?.[0] === "mask") toggle(place);
      if (INPUTS.includes(place?.[0]) && event.pointerType === "mouse") edit();
    },
    { signal },
  );
  panel.parentElement.addEventListener(
    "keydown",
    (event) => {
      const [place, press] = [at(event), event.key === "Enter" || event.key === " "];
      if (!place || event.ctrlKey || event.metaKey || event.altKey) return;
      if (place[0] === "mask" && press) toggle(place);
      else if (INPUTS.includes(place[0]) && (press || /^[-−+\d.,]$/.test(event.key))) edit();
      else return;
      if (press) event.preventDefault();
    },
    { signal },
  );
  typed.addEventListener(
    "change",
    () => {
      const { value, wrong } = typedNumber(typed.value, LARGEST);
      typed.setAttribute("aria-invalid", Boolean(wrong));
      if (wrong) return mistake.wrong(wrong, [repair()]);
      mistake.wrong(null);
      return change(model.get("selected"), value);
    },
    { signal },
  );
  typed.addEventListener(
    "keydown",
    ({ key }) => {
      if (key === "Escape") typed.value = numberAt(wires, model.get("selected"));
      else if (key !== "Enter" || typedNumber(typed.value, LARGEST).wrong) return;
      sheets.cells.get(model.get("selected").join(" ")).td.focus();
      light();
    },
    { signal },
  );

  // --- drawing
  function arrange(i) {
    const { heads, shared = [], groups, says: sentence } = STEPS[i];
    const put = (item, parts = sheets.of[item]) =>
      item in AXES
        ? el("div", { class: "mhsa-sheets" }, parts)
        : el("span", { class: "mhsa-sign" }, item);
    const lines = heads
      ? wires.z.map((_, h) => groups[0].map((item) => put(item, sheets.of[item]?.[h])))
      : groups.map((group) => group.map((item) => put(item)));
    panel.replaceChildren(
      ...shared.map((item) => put(item)),
      el(
        "div",
        { class: "mhsa-groups" },
        lines.map((line) => el("div", { class: "mhsa-group" }, line)),
      ),
    );
    earlier.replaceChildren(...before(i).flatMap((wire) => sheets.of[wire]));
    sofar.hidden = i === 0;
    const fresh = makes(STEPS[i]);
    for (const [wire, parts] of Object.entries(sheets.of)) {
      parts.forEach((part) => part.classList.toggle("mhsa-new", fresh.includes(wire)));
    }
    steps.forEach((one, k) =>
      k === i ? one.setAttribute("aria-current", "step") : one.removeAttribute("aria-current"),
    );
    [back.disabled, next.disabled] = [i === 0, i === STEPS.length - 1];
    says.textContent = `${i + 1}. ${sentence}`;
    arranged = i;
  }

  function light() {
    const chosen = sheets.cells.get(model.get("selected").join(" "));
    const inSight = chosen && body.contains(chosen.td) ? chosen.place : null;
    const [made] = makes(STEPS[arranged]);
    const place = pointed ?? inSight ?? [made, ...AXES[made].map(() => 0)];
    sheets.light(place, parents(place, wires), ancestors(place, wires));
    said.say(arithmetic(place, wires), 0);
    const open = INPUTS.includes(inSight?.[0]);
    field.classList.toggle("mhsa-closed", !open);
    typed.disabled = !open;
    if (!open) mistake.say({});
    if (!open || document.activeElement === typed) return;
    label.textContent = `${placeName(inSight)} =`;
    typed.value = numberAt(wires, inSight);
    typed.setAttribute("aria-invalid", false);
    mistake.say({});
  }

  function draw() {
    wires = forward(read());
    if (arranged !== index()) arrange(index());
    sheets.write(wires);
    const blind = wires.mask.flatMap((row, query) => (row.some(Boolean) ? [] : [query]));
    note.textContent = blind
      .map((query) => `Query ${query} may look at no key: its weights, its z and its y are zeros.`)
      .join(" ");
    masks.show(names.indexOf(maskName(wires.mask)));
    light();
  }

  watch(model, [...INPUTS, "mask", "step"], draw, signal);
  watch(model, ["selected"], light, signal);
  draw();
  return end;
}

export default { render };
