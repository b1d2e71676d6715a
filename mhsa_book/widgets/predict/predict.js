// @ts-check
// A question to answer before the answer is shown; a wrong answer hears its mistake.

import { button } from "../shared/controls.js";
import { el, uid } from "../shared/elements.js";
import { frame } from "../shared/frame.js";
import { watch, write } from "../shared/traits.js";
import { agrees, hint, understood } from "./answers.js";

/** @import { Place } from "../shared/frame.js" */
/** @import { Model } from "../shared/traits.js" */
/** @import { Answer, Understood } from "./answers.js" */

/** Names in backticks as code. @type {(text: string) => (string | HTMLElement)[]} */
function rich(text) {
  return text.split("`").map((part, i) => (i % 2 ? el("code", {}, part) : part));
}

/**
 * Where the answer is picked or typed: `read` gives it, `show` puts it there.
 * @param {Model} model
 */
function answering(model) {
  const answer = /** @type {Answer} */ (model.get("answer"));
  const options = /** @type {string[]} */ (model.get("options"));
  const field = el("input", { type: "text", id: uid(), autocomplete: "off", spellcheck: "false" });
  const name = uid();
  const radios = options.map((option) => el("input", { type: "radio", name, value: option }));
  const picks = radios.map((radio, i) => el("label", {}, radio, el("span", {}, rich(options[i]))));
  const asked = Array.isArray(answer) ? "Your shape" : "Your number";
  const ways = options.length ? picks : [el("label", {}, asked, field)];
  /** @type {() => Understood} */
  function read() {
    if (!options.length) return understood(field.value, answer);
    const picked = radios.find((radio) => radio.checked);
    return picked ? { given: picked.value } : { problem: "Pick an answer first." };
  }
  /** @type {(given: Answer) => void} */
  function show(given) {
    for (const radio of radios) radio.checked = radio.value === given;
    if (document.activeElement !== field) field.value = [given].flat().join(", ");
  }
  return { ways, field, read, show };
}

/** @param {Place} place */
function render({ model, el: root }) {
  const { body, signal, end } = frame(root, "predict");
  const answer = /** @type {Answer} */ (model.get("answer"));
  const { ways, field, read, show } = answering(model);
  const solution = el(
    "p",
    { class: "mhsa-solution", tabindex: -1 },
    el("b", {}, "Answer: "),
    rich(model.get("written")),
    ". ",
    rich(model.get("because")),
  );
  const verdict = el("p");
  const press = () => {
    write(model, "shown", true);
    solution.focus();
  };
  const reveal = button({ label: "", signal, press });
  const question = el("legend", {}, el("b", {}, "Predict "), rich(model.get("question")));
  const submit = el("button", { class: "mhsa-button", type: "submit" }, "Check");
  const bar = el("div", { class: "mhsa-controls" }, submit, reveal);
  const form = el("form", {}, el("fieldset", {}, question, ways), bar);
  body.append(form, el("div", { role: "status" }, verdict, solution));

  /** @type {(event: Event) => void} */
  function judge(event) {
    event.preventDefault();
    const { given, problem = "" } = read();
    if (given === undefined) {
      field.setAttribute("aria-invalid", "true");
      verdict.className = "mhsa-wrong";
      return verdict.replaceChildren(el("b", {}, problem));
    }
    model.set("correct", agrees(given, answer));
    write(model, "given", given);
    return draw(); // the same answer twice is no change
  }
  form.addEventListener("submit", judge, { signal });

  /** @type {(given: Answer) => (string | HTMLElement)[]} */
  const mistake = (given) => [
    el("b", {}, "✗ Not this. "),
    ...rich(hint(given, answer, model.get("wrong"), model.get("axes"))),
  ];

  function draw() {
    const given = /** @type {Answer | null} */ (model.get("given") ?? null);
    const right = given !== null && agrees(given, answer);
    const open = !right && !model.get("shown");
    if (given !== null) show(given);
    field.removeAttribute("aria-invalid");
    verdict.className = right ? "mhsa-right" : "mhsa-wrong";
    if (right) verdict.replaceChildren(el("b", {}, "✓ Right."));
    else verdict.replaceChildren(...(given === null ? [] : mistake(given)));
    reveal.textContent = given === null ? "I cannot tell: show the answer" : "Show the answer";
    reveal.hidden = !open;
    solution.hidden = open;
  }

  watch(model, ["given", "shown"], draw, signal);
  draw();
  return end;
}

export default { render };
