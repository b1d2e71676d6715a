// @ts-check
// Names of columns: on one line; upright where one is wider than its column; then not all.

const APART = 4; // pixels between two names on one line

/**
 * Measure the names whenever they or their columns change. A figure's style turns what has
 * `mhsa-upright`, and leaves room for `--mhsa-longest`, the length of the longest name.
 * @type {(node: HTMLElement, names: HTMLElement[], signal: AbortSignal) => void}
 */
export function turnToFit(node, names, signal) {
  const resized = new ResizeObserver(() => {
    const turned = node.classList.contains("mhsa-upright");
    const across = Math.max(...names.map((name) => name.offsetWidth));
    const down = Math.max(...names.map((name) => name.offsetHeight));
    const [longest, highest] = turned ? [down, across] : [across, down];
    const column = Math.min(...names.map((name) => name.parentElement?.clientWidth ?? 0));
    const upright = longest + APART > column;
    const every = upright && column > 0 ? Math.ceil(highest / column) : 1;
    node.style.setProperty("--mhsa-longest", `${longest}px`);
    node.classList.toggle("mhsa-upright", upright);
    names.forEach((name, i) => name.classList.toggle("mhsa-unnamed", i % every > 0));
  });
  [node, ...names].forEach((each) => resized.observe(each));
  signal.addEventListener("abort", () => resized.disconnect());
}
