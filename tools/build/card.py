"""Draw the picture that stands beside a link to the book: vendor/vendor/poster/card.png.

python -m tools.build.card

1200 by 630, as places where links are shared crop it: the sentence, its two endings, and the
lines of the running example.
"""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from mhsa_lib import examples
from mhsa_lib.plots.style import PAPER
from mhsa_lib.widgets.sentence_lab.still import draw_sentence
from tools.build.poster import FOLDER

SIZE = (1200, 630)
DPI = 150
NAME = "card.png"


def draw() -> None:
    """The two sentences, each with the lines from its last word, below the name of the book."""
    fig, axes = plt.subplots(2, figsize=(SIZE[0] / DPI, SIZE[1] / DPI), dpi=DPI)
    fig.set_facecolor(PAPER)
    fig.subplots_adjust(left=0.03, right=0.97, bottom=0.02, top=0.82, hspace=0.02)
    fig.text(0.04, 0.9, "Multi-head attention, live", size=21, weight="bold", va="center")
    last = len(examples.SENTENCES[0]) - 1
    for sentence, ax in enumerate(axes):
        draw_sentence(ax, sentence, last, [])


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    draw()
    plt.savefig(FOLDER / NAME, dpi=DPI, metadata={"Software": None})
    plt.close()
    print(f"{NAME}: {(FOLDER / NAME).stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
