// A recorded pass of any attention: its stages as steps, and for each number those it was made of.

import { button, el, frame, rove, spoken, watch, write } from "../shared/kit.js";
import { closure, numberAt, numeral, placeName } from "../shared/provenance.js";
import { makeSheets } from "../shared/sheets.js";

const HINT =
  "Point at a number, or reach it with Tab and the arrow keys, to see where it comes from.";

/** The pass as the page uses it: numbers by wire, and the parents of every place by its key. */
export function unpacked({ inputs, axes, numbers, parents, steps }) {
  const wires = Object.fromEntries(
    Object.entries(numbers).map(([name, rows]) => [name, infinite(rows)]),
  );
  const places = Object.keys(axes).flatMap((name) =>
    everyPlace(numbers[name]).map((at) => [name, ...at]),
  );
  const start = (wire) => places.findIndex(([name]) => name === wire);
  const known = Object.entries(parents).flatMap(([wire, lists]) =>
    lists.map((list, i) => [places[start(wire) + i].join(" "), list.map((j) => places[j])]),
  );
  const uses = Object.fromEntries(
    Object.entries(parents).map(([wire, lists]) => [
      wire,
      [...new Set(lists.flat().map((j) => places[j][0]))],
    ]),
  );
  return { inputs, axes, wires, steps, uses, parents: Object.fromEntries(known) };
}

const infinite = (rows) => (Array.isArray(rows) ? rows.map(infinite) : (rows ?? -Infinity));

const everyPlace = (rows) =>
  Array.isArray(rows) ? rows.flatMap((row, i) => everyPlace(row).map((at) => [i, ...at])) : [[]];

/** Where a number came from, in a sentence. */
export function origin(place, { inputs, wires, parents }) {
  const value = `${placeName(place)} = ${numeral(numberAt(wires, place))}`;
  if (inputs.includes(place[0])) return `${value}, an input.`;
  const near = parents[place.join(" ")];
  if (near.length === 0) return `${value}, whatever the numbers before it are.`;
  if (near.length === 1)
    return `${value}, made of ${placeName(near[0])} = ${numeral(numberAt(wires, near[0]))} alone.`;
  const counts = new Map();
  for (const [name] of near) counts.set(name, (counts.get(name) ?? 0) + 1);
  const parts = [...counts].map(([name, count]) => `${count} of ${name}`);
  return `${value}, made of ${near.length} numbers: ${parts.join(", ")}.`;
}

function render({ model, el: root }) {
  const { body, signal, end } = frame(root, "pass-stepper");
  body.classList.add("mhsa-stepper");
  const pass = unpacked(model.get("recorded"));
  const { steps, wires, axes } = pass;
  const parents = (place) => pass.parents[place.join(" ")] ?? [];
  const index = () => Math.min(model.get("step"), steps.length - 1);
  let pointed = null;

  const go = (i) => {
    pointed = null;
    write(model, "selected", []);
    write(model, "step", i);
  };
  const back = button({ label: "← Previous", signal, press: () => go(index() - 1) });
  const next = button({ label: "Next →", signal, press: () => go(index() + 1) });
  const tabs = steps.map(({ step }, i) => button({ label: step, signal, press: () => go(i) }));
  rove(tabs, tabs.length, signal);
  const says = el("p", { class: "mhsa-says" });
  const [panel, earlier] = [
    el("div", { class: "mhsa-panel" }),
    el("div", { class: "mhsa-earlier" }),
  ];
  const sofar = el("details", {}, el("summary", {}, "Earlier in the pass"), earlier);
  const said = spoken();
  const sheets = makeSheets({
    wires,
    axes,
    open: [],
    colours: model.get("colours"),
    signal,
    select: (place) => write(model, "selected", place),
  });
  sheets.write(wires);
  body.append(
    el("div", { class: "mhsa-controls" }, back, next),
    el(
      "ol",
      { class: "mhsa-steps", "aria-label": "Stages of the pass" },
      tabs.map((one) => el("li", {}, one)),
    ),
    says,
    panel,
    el("div", { class: "mhsa-bar" }, said.node),
    sofar,
    el("p", { class: "mhsa-hint" }, HINT),
  );

  const at = (event) => sheets.cells.get(event.target.closest("td")?.dataset.place)?.place ?? null;
  const point = (place) => {
    if (place?.join() === pointed?.join()) return;
    pointed = place;
    light();
  };
  body.addEventListener("pointerover", (event) => point(at(event)), { signal });
  body.addEventListener("pointerleave", () => point(null), { signal });

  function arrange() {
    const [i, { makes, says: sentence }] = [index(), steps[index()]];
    const put = (name) => el("div", { class: "mhsa-sheets" }, sheets.of[name]);
    const lists = makes.map((wire) => pass.uses[wire]);
    const shared =
      makes.length > 1 ? lists[0].filter((name) => lists.every((list) => list.includes(name))) : [];
    const lines = makes.map((wire, k) =>
      el(
        "div",
        { class: "mhsa-group" },
        lists[k].filter((name) => !shared.includes(name)).map(put),
        el("span", { class: "mhsa-sign" }, "→"),
        put(wire),
      ),
    );
    panel.replaceChildren(...shared.map(put), el("div", { class: "mhsa-groups" }, lines));
    const now = new Set([...lists.flat(), ...makes]);
    const met = new Set(steps.slice(0, i).flatMap((step) => step.makes));
    earlier.replaceChildren(
      ...Object.keys(axes)
        .filter((name) => met.has(name) && !now.has(name))
        .flatMap((name) => sheets.of[name]),
    );
    sofar.hidden = earlier.childElementCount === 0;
    for (const [name, parts] of Object.entries(sheets.of)) {
      parts.forEach((part) => part.classList.toggle("mhsa-new", makes.includes(name)));
    }
    tabs.forEach((one, k) =>
      k === i ? one.setAttribute("aria-current", "step") : one.removeAttribute("aria-current"),
    );
    [back.disabled, next.disabled] = [i === 0, i === steps.length - 1];
    says.textContent = `${i + 1}. ${sentence}`;
    light();
  }

  function light() {
    const chosen = sheets.cells.get(model.get("selected").join(" "));
    const [made] = steps[index()].makes;
    const place =
      pointed
      ?? (chosen && body.contains(chosen.td) ? chosen.place : [made, ...axes[made].map(() => 0)]);
    sheets.light(place, parents(place), closure(place, parents));
    said.say(origin(place, pass), 0);
  }

  watch(model, ["step"], arrange, signal);
  watch(model, ["selected"], light, signal);
  arrange();
  return end;
}

export default { render };
