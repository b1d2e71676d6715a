// @ts-check
// A walk through the museum: by symptom or by stage, one exhibit at a time.

import { button, choice } from "../shared/controls.js";
import { el } from "../shared/elements.js";
import { frame } from "../shared/frame.js";
import { spoken } from "../shared/spoken.js";
import { watch, write, writeAll } from "../shared/traits.js";
import { drawnLosses } from "./losses.js";
import { beside, changed, inTheWild, remarked, tested, titled } from "./parts.js";
import { ANY, described, offered, outcome, spaced } from "./words.js";

/** @import { Place } from "../shared/frame.js" */
/** @import { Exhibit } from "./words.js" */
/** @import { Right } from "./parts.js" */

const STAGES = [
  "project",
  "split",
  "attend",
  "mask",
  "positions",
  "cache",
  "concat",
  "W_O",
  "around",
];
const HEADS = ["0", "1", "2", "3"];

/** @param {Place} place */
function render({ model, el: root }) {
  const { body, signal, end } = frame(root, "bug-museum");
  const exhibits = /** @type {Exhibit[]} */ (model.get("exhibits"));
  const rights = /** @type {Right[]} */ (model.get("rights"));
  const symptoms = [ANY, ...Object.keys(model.get("symptoms"))];
  const stages = [ANY, ...STAGES];
  const shownExhibits = () => offered(exhibits, model.get("symptom"), model.get("stage"));

  /** @type {(change: Record<string, string>) => void} */
  function narrow(change) {
    const now = { symptom: model.get("symptom"), stage: model.get("stage"), ...change };
    const left = offered(exhibits, now.symptom, now.stage);
    if (left.length === 0) Object.assign(now, { symptom: ANY, stage: ANY }, change);
    const [first] = offered(exhibits, now.symptom, now.stage);
    const stays = left.some((each) => each.name === model.get("name"));
    writeAll(model, { ...now, name: stays ? model.get("name") : first.name });
  }
  /** @type {(by: number) => void} */
  function step(by) {
    const names = shownExhibits().map((each) => each.name);
    const at = names.indexOf(model.get("name")) + by + names.length;
    write(model, "name", names[at % names.length]);
  }
  const symptom = choice({
    label: "symptom",
    options: symptoms,
    value: 0,
    signal,
    change: (i) => narrow({ symptom: symptoms[i] }),
  });
  const stage = choice({
    label: "stage",
    options: stages,
    value: 0,
    signal,
    change: (i) => narrow({ stage: stages[i] }),
  });
  const exhibit = choice({
    label: "exhibit",
    options: [],
    value: 0,
    signal,
    change: (i) => write(model, "name", shownExhibits()[i].name),
  });
  const head = choice({
    label: "head",
    options: HEADS,
    value: 0,
    signal,
    change: (i) => write(model, "head", i),
  });
  const back = button({ label: "Previous", signal, press: () => step(-1) });
  const on = button({ label: "Next", signal, press: () => step(1) });
  const [shown, said] = [el("div"), spoken()];
  const chosen = [symptom.node, stage.node, exhibit.node, head.node, back, on];
  body.append(el("div", { class: "mhsa-controls" }, chosen), said.node, shown);

  function draw() {
    const each = /** @type {Exhibit} */ (exhibits.find(({ name }) => name === model.get("name")));
    const [right, left] = [rights[each.right], shownExhibits()];
    symptom.show(symptoms.indexOf(model.get("symptom")));
    stage.show(stages.indexOf(model.get("stage")));
    exhibit.select.replaceChildren(...left.map(({ name }) => el("option", {}, spaced(name))));
    exhibit.show(left.indexOf(each));
    head.show(model.get("head"));
    said.say(described(each, model.get("symptoms")[each.symptom]));
    const curve = drawnLosses(each.losses, right.losses, model.get("every"), "Losses");
    const training = el("div", {}, titled("Training, three seeds"), curve);
    training.append(
      remarked(`Loss in nats; broken lines are the right attention's.${outcome(each)}`),
    );
    shown.replaceChildren(
      titled(spaced(each.name), true),
      changed(each.diff),
      beside(each, right, model.get("tokens"), model.get("head")),
      el("div", { class: "mhsa-two" }, training, el("div", {}, titled("Tested"), tested(each))),
      remarked(`The cheapest check: ${each.check}`),
      ...inTheWild(each),
    );
  }
  watch(model, ["name", "symptom", "stage", "head"], draw, signal);
  draw();
  return end;
}

export default { render };
