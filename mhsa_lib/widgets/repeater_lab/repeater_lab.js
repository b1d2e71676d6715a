// A text to type, what the model expects after every token, every head's weights, and a switch for
// each head.

import {
  bytes,
  button,
  clamp,
  el,
  fixed,
  frame,
  notice,
  spoken,
  svg,
  uid,
  watch,
  weightColour,
  weightInk,
  write,
  writeAll,
} from "../shared/kit.js";
import { encoded, largest, readable, run, unpack } from "./model.js";

const TOP = 5;
const LABELLED = 26; // with more tokens than this, only the row and the column in question get names
const LETTERS = 26;
const SHADES = Array.from({ length: 256 }, (_, i) =>
  weightColour(i / 255)
    .match(/\d+/g)
    .map(Number),
);

/** A text nobody has seen: random letters, the same again, and the beginning once more. */
export function randomRepeats(random = Math.random) {
  const block = Array.from({ length: 6 + Math.floor(random() * 7) }, () =>
    String.fromCharCode(97 + Math.floor(random() * LETTERS)),
  );
  return [...block, ...block, ...block.slice(0, 3)].join("");
}

/** How many of the tokens that follow were the model's first guess. */
export function hits(ids, probabilities) {
  return ids.slice(1).filter((id, i) => largest(probabilities[i], 1)[0] === id).length;
}

function render({ model, el: root }) {
  const { body, signal, end } = frame(root, "repeater-lab");
  const [alphabet, habits] = [model.get("alphabet"), model.get("habits")];
  const [nLayers, nHeads] = [habits.length, habits[0].length];
  const matrices = unpack(bytes(model.get("packed")), model.get("tensors"));
  const sign = (id) => (id === alphabet.length ? "▷" : alphabet[id].replace(" ", "␣"));
  const spell = (id) => ({ "▷": "the start", "␣": "space" })[sign(id)] ?? sign(id);
  const whole = { text: null, result: null };
  const cells = [];

  const typed = el("input", {
    type: "text",
    id: uid(),
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
  });
  const place = notice({ signal });
  const set = (text) => {
    const { problem } = encoded(text, alphabet, matrices.positions.length);
    typed.setAttribute("aria-invalid", Boolean(problem));
    if (problem)
      return place.wrong(`${problem[0].toUpperCase()}${problem.slice(1)}`, [repair(text)]);
    place.wrong(null);
    return writeAll(model, { position: null, text });
  };
  const repair = (text) => {
    const near = readable(text, alphabet, matrices.positions.length) ?? model.get("text");
    return [
      `text = “${near.length > 20 ? `${near.slice(0, 19)}…` : near}”`,
      () => {
        set(near);
        reread(); // also where it is the text that was there
      },
    ];
  };
  typed.addEventListener("input", () => set(typed.value), { signal });
  const draws = button({
    label: "Random letters, repeated",
    signal,
    press: () => set(randomRepeats()),
  });
  const allOn = button({ label: "All heads on", signal, press: () => write(model, "off", []) });
  const strip = el("div", {
    class: "mhsa-tokens",
    role: "group",
    "aria-label": "Tokens; arrow keys choose one",
  });
  const next = el("div", { class: "mhsa-next" });
  const big = el("div", { class: "mhsa-big" });
  const said = spoken();
  const maps = habits.map((row, layer) => row.map((habit, head) => card(layer, head, habit)));
  body.append(
    el(
      "div",
      { class: "mhsa-controls" },
      el("label", { for: typed.id }, "Text"),
      typed,
      draws,
      allOn,
    ),
    place.node,
    strip,
    legend(),
    el(
      "div",
      { class: "mhsa-parts" },
      next,
      el(
        "div",
        { class: "mhsa-layers" },
        maps.map((row, layer) =>
          el(
            "div",
            { class: "mhsa-layer", role: "group", "aria-label": `Heads of layer ${layer}` },
            row.map(({ node }) => node),
          ),
        ),
      ),
      big,
    ),
    said.node,
  );

  function card(layer, head, habit) {
    const canvas = el("canvas", { "aria-hidden": "true" });
    const name = `L${layer}H${head}`;
    const show = el(
      "button",
      { type: "button", class: "mhsa-map", "aria-label": `Enlarge ${name}, ${habit}` },
      canvas,
    );
    show.addEventListener("click", () => write(model, "large", [layer, head]), { signal });
    const box = el("input", { type: "checkbox" });
    box.addEventListener(
      "change",
      () => {
        const others = model.get("off").filter(([l, h]) => l !== layer || h !== head);
        write(model, "off", box.checked ? others : [...others, [layer, head]]);
      },
      { signal },
    );
    const node = el(
      "div",
      { class: "mhsa-card" },
      show,
      el("label", { class: "mhsa-check" }, box, name),
      el("span", { class: "mhsa-habit" }, habit),
    );
    return { node, canvas, show, box };
  }

  function cell() {
    const [token, guessed, chance] = ["token", "guess", "chance"].map((part) =>
      el("span", { class: `mhsa-${part}`, "aria-hidden": "true" }),
    );
    const name = el("span", { class: "mhsa-hidden" });
    return {
      node: el("button", { type: "button" }, token, guessed, chance, name),
      token,
      guessed,
      chance,
      name,
    };
  }

  function choose(position) {
    write(model, "position", position);
    strip.children[position].focus();
  }
  strip.addEventListener(
    "click",
    (event) => {
      const token = event.target.closest("button");
      if (token) choose([...strip.children].indexOf(token));
    },
    { signal },
  );
  strip.addEventListener(
    "keydown",
    (event) => {
      const [at, last] = [[...strip.children].indexOf(event.target), strip.children.length - 1];
      const to = {
        ArrowRight: at + 1,
        ArrowDown: at + 1,
        ArrowLeft: at - 1,
        ArrowUp: at - 1,
        Home: 0,
        End: last,
      }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      choose(clamp(to, 0, last));
    },
    { signal },
  );

  function draw() {
    const [text, off, [layer, head]] = [model.get("text"), model.get("off"), model.get("large")];
    const { ids } = encoded(text, alphabet, matrices.positions.length);
    if (whole.text !== text)
      Object.assign(whole, { text, result: run(matrices, ids, nLayers, nHeads) });
    const now = off.length ? run(matrices, ids, nLayers, nHeads, off) : whole.result;
    const position = Math.min(model.get("position") ?? ids.length - 1, ids.length - 1);
    const looks = now.weights[layer][head];
    const isOff = (l, h) => off.some(([a, b]) => a === l && b === h);
    allOn.disabled = off.length === 0;
    drawTokens(ids, now.probabilities, looks[position], position);
    drawNext(ids, now.probabilities[position], whole.result.probabilities[position], position);
    maps.forEach((row, l) =>
      row.forEach(({ node, canvas, show, box }, h) => {
        paint(canvas, now.weights[l][h]);
        box.checked = !isOff(l, h);
        node.classList.toggle("mhsa-off", isOff(l, h));
        show.setAttribute("aria-pressed", l === layer && h === head);
      }),
    );
    big.replaceChildren(
      ...enlarged(
        `Layer ${layer}, head ${head}: ${habits[layer][head]}`,
        looks,
        ids,
        position,
        isOff(layer, head),
      ),
    );
    said.say(sentence(ids, now.probabilities, looks[position], position, off));
  }

  function drawTokens(ids, probabilities, looks, position) {
    while (cells.length < ids.length) strip.append(cells[cells.push(cell()) - 1].node);
    while (cells.length > ids.length) cells.pop().node.remove();
    ids.forEach((id, i) => {
      const { node, token, guessed, chance, name } = cells[i];
      const [guess, follows] = [largest(probabilities[i], 1)[0], ids[i + 1]];
      const [mark, word] =
        follows === undefined ? ["?", ""] : follows === guess ? ["✓", ", right"] : ["✗", ", wrong"];
      token.textContent = sign(id);
      token.style.cssText = `background:${weightColour(looks[i])};color:${weightInk(looks[i])}`;
      guessed.textContent = `${sign(guess)}\u200a${mark}`;
      guessed.classList.toggle("mhsa-hit", mark === "✓");
      chance.textContent = fixed(probabilities[i][guess]);
      name.textContent = `${i}: ${spell(id)}; next ${spell(guess)} ${chance.textContent}${word}`;
      node.setAttribute("aria-pressed", i === position);
      node.tabIndex = i === position ? 0 : -1;
    });
  }

  function drawNext(ids, after, before, position) {
    const follows = ids[position + 1];
    const guesses = [...new Set([...largest(after, TOP), ...largest(before, 1)])];
    const rows = guesses.map((id) =>
      el(
        "tr",
        {},
        el(
          "th",
          { scope: "row" },
          sign(id),
          id === follows ? el("span", { class: "mhsa-hit" }, " ✓") : null,
        ),
        el(
          "td",
          { class: "mhsa-bar" },
          el(
            "div",
            {},
            el("span", { style: `width:${100 * after[id]}%` }),
            el("i", { style: `left:${100 * before[id]}%` }),
          ),
        ),
        el("td", { class: "mhsa-number" }, fixed(after[id])),
        el("td", { class: "mhsa-number" }, fixed(before[id])),
      ),
    );
    const titles = ["next", "", "now", "all on"].map((title, i) =>
      el(
        title ? "th" : "td",
        { scope: title ? "col" : null, class: i > 1 ? "mhsa-number" : null },
        title,
      ),
    );
    const caption =
      position === ids.length - 1
        ? "What comes next"
        : `What was expected after token ${position}, ${spell(ids[position])}`;
    next.replaceChildren(
      el("p", { class: "mhsa-title" }, caption),
      el(
        "table",
        { "aria-label": caption },
        el("thead", {}, el("tr", {}, titles)),
        el("tbody", {}, rows),
      ),
    );
  }

  function enlarged(title, looks, ids, position, isOff) {
    const canvas = el("canvas", { "aria-hidden": "true" });
    paint(canvas, looks);
    const [n, top] = [ids.length, largest(looks[position], 1)[0]];
    const margin = Math.max(1.4, n / 22);
    const named = (i, chosen) => n <= LABELLED || i === chosen;
    const label = (i, x, y, anchor) =>
      svg("text", { x, y, "text-anchor": anchor, "font-size": (n + margin) / 26 }, sign(ids[i]));
    const picture = svg(
      "svg",
      {
        viewBox: `${-margin} 0 ${n + margin} ${n + margin}`,
        role: "img",
        "aria-label": `Heat map: ${title}. Queries run down, keys to the right.`,
      },
      svg("rect", { x: 0, y: position, width: n, height: 1, class: "mhsa-row" }),
      ids.map((_, i) => (named(i, position) ? label(i, -0.3, i + 0.78, "end") : null)),
      ids.map((_, i) => (named(i, top) ? label(i, i + 0.5, n + margin * 0.72, "middle") : null)),
    );
    const share = (100 * margin) / (n + margin);
    canvas.style.cssText = `left:${share}%;width:${100 - share}%;height:${100 - share}%`;
    const sheet = el("div", { class: "mhsa-sheet" }, canvas, picture);
    picture.addEventListener(
      "pointerdown",
      (event) => {
        const place = canvas.getBoundingClientRect();
        write(
          model,
          "position",
          clamp(Math.floor((n * (event.clientY - place.top)) / place.height), 0, n - 1),
        );
      },
      { signal },
    );
    return [
      el(
        "p",
        { class: "mhsa-title" },
        title,
        isOff ? el("b", {}, " (off: it looks, but writes nothing)") : null,
      ),
      sheet,
      el("p", { class: "mhsa-axes" }, "query ↓  key →"),
    ];
  }

  function sentence(ids, probabilities, looks, position, off) {
    const [guess] = largest(probabilities[position], 1);
    const names = off.map(([l, h]) => `L${l}H${h}`).join(", ");
    const right = hits(ids, probabilities);
    const [layer, head] = model.get("large");
    const seen = largest(looks, 3)
      .filter((k) => looks[k] >= 0.005)
      .map((k) => `${spell(ids[k])} at ${k} (${fixed(looks[k])})`);
    return (
      `${off.length ? `Without ${names}` : "With all heads"}, ${right} of the ${ids.length - 1} tokens are the model's first guess`
      + `${off.length ? ` (with all heads, ${hits(ids, whole.result.probabilities)})` : ""}. After token ${position}, ${spell(ids[position])}, it expects ${spell(guess)} `
      + `(${fixed(probabilities[position][guess])}). There L${layer}H${head} looks at ${seen.join(", ")}.`
    );
  }

  function reread() {
    if (typed.value !== model.get("text")) typed.value = model.get("text");
    typed.setAttribute("aria-invalid", "false");
    place.say({});
    draw();
  }

  watch(model, ["text"], reread, signal);
  watch(model, ["off", "large", "position"], draw, signal);
  reread();
  return end;
}

/** One pixel for a weight; the page enlarges them. What a query may not see stays white. */
function paint(canvas, weights) {
  const n = weights.length;
  [canvas.width, canvas.height] = [n, n];
  const image = new ImageData(n, n);
  image.data.fill(255);
  weights.forEach((row, q) =>
    row.slice(0, q + 1).forEach((weight, k) => {
      image.data.set(SHADES[Math.round(255 * weight)], 4 * (q * n + k));
    }),
  );
  canvas.getContext("2d").putImageData(image, 0, 0);
}

/** How to read the tokens, and the colours from 0 to 1. */
function legend() {
  const stops = Array.from({ length: 9 }, (_, i) => weightColour(i / 8)).join(",");
  return el(
    "p",
    { class: "mhsa-legend" },
    "Under each token: the model's first guess for the next one, ✓ if it came, and its probability. Behind it: the weight it gets from the chosen token, ",
    el("span", {}, "0 ", el("i", { style: `background:linear-gradient(90deg,${stops})` }), " 1."),
  );
}

export default { render };
