"""Draw the README's picture: the wires of its eight lines, as boxes.

python -m tools.build.picture
"""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import torch

from mhsa_book import plots
from mhsa_lib import MultiHeadAttention, masks, trace
from tools import ROOT


def main() -> None:
    mha = MultiHeadAttention(d_model=12, n_heads=3)
    with trace(mha) as wires:
        mha(torch.randn(2, 6, 12), mask=masks.causal)
    plots.pipeline(wires)
    plt.savefig(
        ROOT / "book" / "pipeline.png",
        dpi=120,
        bbox_inches="tight",
        metadata={"Software": None},
    )


if __name__ == "__main__":
    main()
