// A question to answer before the answer is shown; a wrong answer hears its mistake.

import { button, el, frame, uid, watch, write } from "../shared/kit.js";

/** What was typed, as a shape or a number: { given }, or { problem } in words. */
export function understood(typed, answer) {
  const text = typed.trim().replaceAll("−", "-");
  const no = (rule) => ({
    problem: `${text ? `“${[...text].slice(0, 24).join("")}” cannot be read. ` : ""}Type ${rule}.`,
  });
  if (Array.isArray(answer)) {
    const inner = text
      .replace(/^torch\.Size/i, "")
      .replace(/^[([\s]+|[)\]\s]+$/g, "")
      .replace(/\s*,$/, "");
    const sizes = inner === "" ? [] : inner.split(/\s*[,;x×*·]\s*|\s+/i);
    const fits = text && sizes.every((part) => /^\d{1,15}$/.test(part));
    return fits
      ? { given: sizes.map(Number) }
      : no("a shape, whole numbers with commas as in 5, 7");
  }
  const thousands = /^-?[1-9]\d{0,2}([, ]\d{3})+(\.\d+)?$/.test(text);
  const digits = thousands ? text.replace(/[, ]/g, "") : text.replace(",", ".");
  const fits =
    /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(digits) && Number.isFinite(Number(digits));
  return fits ? { given: Number(digits) } : no("a number in digits, as in 12 or 0.5");
}

/** Exactly, but a number that is not whole may be 1 % off. */
export function agrees(given, answer) {
  if (typeof answer === "number" && typeof given === "number" && !Number.isInteger(answer)) {
    return Math.abs(given - answer) <= 0.01 * Math.abs(answer);
  }
  return JSON.stringify(given) === JSON.stringify(answer);
}

/** What is wrong, not what is right: the misconception if it is known, else a hint. */
export function hint(given, answer, wrong, axes) {
  const known = wrong.find(([mistake]) => agrees(given, mistake));
  if (known) return known[1];
  if (typeof answer === "number") return given < answer ? "It is more." : "It is less.";
  if (!Array.isArray(answer)) return "";
  if (given.length !== answer.length) {
    return `Its number of axes is ${answer.length}, and yours ${given.length}.`;
  }
  const sorted = (sizes) => `${[...sizes].sort()}`;
  if (sorted(given) === sorted(answer)) return "The sizes are right, their order is not.";
  const axis = axes[answer.findIndex((size, i) => size !== given[i])];
  return axis ? `Look again at \`${axis}\`.` : "";
}

/** Names in backticks as code. */
function rich(text) {
  return text.split("`").map((part, i) => (i % 2 ? el("code", {}, part) : part));
}

function render({ model, el: root }) {
  const { body, signal, end } = frame(root, "predict");
  const answer = model.get("answer");
  const options = model.get("options");
  const name = uid();
  const field = el("input", { type: "text", autocomplete: "off", spellcheck: "false" });
  const radios = options.map((option) => el("input", { type: "radio", name, value: option }));
  const ways = options.length
    ? radios.map((radio, i) => el("label", {}, radio, el("span", {}, rich(options[i]))))
    : el("label", {}, Array.isArray(answer) ? "Your shape" : "Your number", field);
  const solution = el(
    "p",
    { class: "mhsa-solution", tabindex: -1 },
    el("b", {}, "Answer: "),
    rich(model.get("written")),
    ". ",
    rich(model.get("because")),
  );
  const verdict = el("p");
  const show = button({
    label: "",
    signal,
    press: () => {
      write(model, "shown", true);
      solution.focus();
    },
  });
  const form = el(
    "form",
    {},
    el(
      "fieldset",
      {},
      el("legend", {}, el("b", {}, "Predict "), rich(model.get("question"))),
      ways,
    ),
    el(
      "div",
      { class: "mhsa-controls" },
      el("button", { class: "mhsa-button", type: "submit" }, "Check"),
      show,
    ),
  );
  body.append(form, el("div", { role: "status" }, verdict, solution));

  form.addEventListener(
    "submit",
    (event) => {
      event.preventDefault();
      const picked = radios.find((radio) => radio.checked);
      const { given, problem } = !options.length
        ? understood(field.value, answer)
        : picked
          ? { given: picked.value }
          : { problem: "Pick an answer first." };
      if (problem) {
        field.setAttribute("aria-invalid", "true");
        verdict.className = "mhsa-wrong";
        return verdict.replaceChildren(el("b", {}, problem));
      }
      model.set("correct", agrees(given, answer));
      write(model, "given", given);
      return draw(); // the same answer twice is no change
    },
    { signal },
  );

  function draw() {
    const given = model.get("given") ?? null;
    const right = given !== null && agrees(given, answer);
    const open = !right && !model.get("shown");
    if (given !== null) {
      for (const radio of radios) radio.checked = radio.value === given;
      if (document.activeElement !== field) field.value = [given].flat().join(", ");
    }
    field.removeAttribute("aria-invalid");
    verdict.className = right ? "mhsa-right" : "mhsa-wrong";
    verdict.replaceChildren(
      ...(given === null
        ? []
        : right
          ? [el("b", {}, "✓ Right.")]
          : [
              el("b", {}, "✗ Not this. "),
              ...rich(hint(given, answer, model.get("wrong"), model.get("axes"))),
            ]),
    );
    show.textContent = given === null ? "I cannot tell: show the answer" : "Show the answer";
    show.hidden = !open;
    solution.hidden = open;
  }

  watch(model, ["given", "shown"], draw, signal);
  draw();
  return end;
}

export default { render };
