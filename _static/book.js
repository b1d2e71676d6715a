// What the theme leaves undone: frames that scroll can be reached by keyboard, and paper is light.
// In a book opened from files, the search does not ask for the text of its pages, which a file
// may not do, and a notebook comes as a script: a browser shows such a file instead of saving it.

const onPaper = matchMedia("print");
let themeOnScreen = null;

function dress(paper) {
  const page = document.documentElement.dataset;
  if (paper) themeOnScreen ??= page.theme;
  else if (themeOnScreen === null) return;
  page.theme = paper ? "light" : themeOnScreen;
  if (!paper) themeOnScreen = null;
}

onPaper.addEventListener("change", () => dress(onPaper.matches));
addEventListener("beforeprint", () => dress(true));
addEventListener("afterprint", () => dress(false));

// Called by the script that notebook_files.py writes beside each notebook.
function saveNotebook(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/x-ipynb+json" }));
  link.download = name;
  link.click();
}

if (location.protocol === "file:") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[download][href$=".ipynb"]');
    if (!link) return;
    event.preventDefault();
    const script = document.createElement("script");
    document.head.append(Object.assign(script, { src: `${link.href}.js` }));
  });
}

document.addEventListener("DOMContentLoaded", () => {
  const frames =
    "figure, pre, .pst-scrollable-table-container, .mhsa-scroll, mjx-container, div.math, "
    + ".cell_output > .output";
  const main = document.getElementById("main-content");

  function reach(frame) {
    const scrolls = ["auto", "scroll"].includes(getComputedStyle(frame).overflowX);
    if (scrolls && frame.scrollWidth > frame.clientWidth) frame.tabIndex = 0;
    else if (frame.tabIndex === 0 && !frame.hasAttribute("role")) frame.removeAttribute("tabindex");
  }

  const reachAll = () => main.querySelectorAll(frames).forEach(reach);
  new ResizeObserver(reachAll).observe(main);
  window.addEventListener("load", reachAll);
});

// Whoever comes from the search sees the words that were found, in the section that was found.
function markFound(words) {
  const at = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const place = at?.closest("section, dl") ?? document.querySelector("article");
  const pattern = words
    .map((word) => word.replace(/[^\p{L}\p{N}]/gu, ""))
    .filter(Boolean)
    .join("|");
  if (!place || !pattern || !CSS.highlights) return;
  const texts = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
  const ranges = [];
  while (texts.nextNode()) {
    const node = texts.currentNode;
    if (node.parentElement.closest("script, style, .mhsa-figure")) continue;
    for (const match of node.data.matchAll(new RegExp(pattern, "giu"))) {
      const range = new Range();
      range.setStart(node, match.index);
      range.setEnd(node, match.index + match[0].length);
      ranges.push(range);
    }
  }
  CSS.highlights.set("book-found", new Highlight(...ranges));
}

document.addEventListener("DOMContentLoaded", () => {
  const address = new URL(location.href);
  const words = address.searchParams.get("found");
  if (!words) return;
  markFound(words.split(" "));
  address.searchParams.delete("found"); // a copied address leads to the place, not to the search
  history.replaceState(null, "", address);
});
