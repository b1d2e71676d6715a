"""Words of a figure never lie on each other, and names of columns do not touch."""

import pytest

from mhsa_book.widgets import ScoresLab
from tests.mhsa_book.widgets.every_figure import MAKE

PHONE = 339  # the width of a figure in the book on a phone
WORDS = ["The", "animal", "avoided", "the", "street", "because", "it", "was", "too", "tired"]
FIGURES = MAKE | {
    "ScoresLab of 20 keys": lambda: ScoresLab([0.0] * 20),
    "ScoresLab of long words": lambda: ScoresLab([0.0] * 10, tokens=WORDS),
}
# Boxes as high as letters are, without the room between lines. A chosen row and column say
# their names again, on paper of their own.
BOXES = """() => {
  const figure = document.querySelector(".mhsa-figure");
  const walk = document.createTreeWalker(figure, NodeFilter.SHOW_TEXT);
  const found = [];
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const owner = node.parentElement;
    const unseen = "style, script, select, title, .mhsa-hidden, .mhsa-marked, [hidden]";
    const looks = { opacityProperty: true, visibilityProperty: true };
    if (!node.data.trim() || owner.closest(unseen) || !owner.checkVisibility(looks)) continue;
    let block = owner;
    while (getComputedStyle(block).display === "inline" && !block.ownerSVGElement)
      block = block.parentElement;
    const range = document.createRange();
    range.setStart(node, node.data.search(/\\S/));
    range.setEnd(node, node.data.trimEnd().length);
    let clip = { left: 0, right: 1e9, top: 0, bottom: 1e9 };
    for (let one = block; one !== figure; one = one.parentElement) {
      if (getComputedStyle(one).overflowX === "visible") continue;
      const edge = one.getBoundingClientRect();
      clip = {
        left: Math.max(clip.left, edge.left), right: Math.min(clip.right, edge.right),
        top: Math.max(clip.top, edge.top), bottom: Math.min(clip.bottom, edge.bottom),
      };
    }
    for (const { left, right, top, bottom } of range.getClientRects())
      found.push({
        text: node.data.trim().slice(0, 30), block,
        head: block.closest("thead") && getComputedStyle(block).writingMode === "horizontal-tb",
        left: Math.max(left, clip.left), right: Math.min(right, clip.right),
        top: Math.max(top, clip.top), bottom: Math.min(bottom, clip.bottom),
      });
  }
  const boxes = found.filter((b) => b.right - b.left > 1 && b.bottom - b.top > 1);
  return boxes.flatMap((a, i) => boxes.slice(i + 1).flatMap((b) => {
    if (a.block === b.block) return [];
    const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    const least = 0.5 * Math.min(a.bottom - a.top, b.bottom - b.top);
    const apart = a.head && b.head ? -4 : 1; // pixels
    return across > apart && down > least ? [[a.text, b.text, across, down]] : [];
  }));
}"""


@pytest.mark.parametrize("name", FIGURES)
def test_no_word_lies_on_another(open_figure, name):
    page = open_figure(FIGURES[name]())
    for width in (PHONE, 390, 700, 1000):
        page.set_viewport_size({"width": width, "height": 4000})  # what sticks has its room
        page.evaluate(
            "() => new Promise((f) => requestAnimationFrame(() => setTimeout(f, 50)))"
        )
        assert page.evaluate(BOXES) == [], width
