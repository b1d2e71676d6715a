"""Layers that were trained, as rings in the plane of heads and widths."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mhsa_book.costs.configurations import TABLE_3A


@dataclass(frozen=True)
class Rings:
    """A set of trained layers, and what is written beside each.

    Parameters
    ----------
    name : what the reader chooses it by
    source : a sentence or two below the picture: what is written, and where it is from
    runs : by (n_heads, d_head) what is written beside the ring

    Examples
    --------
    >>> Rings("ours", "Accuracy.", {(8, 4): "0.97"}).drawn()["runs"]
    [{'n_heads': 8, 'd_head': 4, 'said': '0.97'}]
    """

    name: str
    source: str
    runs: Mapping[tuple[int, int], str]

    def drawn(self) -> dict[str, Any]:
        """The set as the page has it."""
        runs = [
            {"n_heads": n_heads, "d_head": d_head, "said": said}
            for (n_heads, d_head), said in self.runs.items()
        ]
        return {"name": self.name, "source": self.source, "runs": runs}


PUBLISHED = Rings(
    "published, 2017",
    "Rings, BLEU / perplexity: Vaswani et al., Table 3, rows (A), d_model 512, English to "
    "German, newstest2013. One run each, on the development set: no ranking.",
    {
        (run.n_heads, 512 // run.n_heads): f"{run.bleu:.1f} / {run.perplexity:.2f}"
        for run in TABLE_3A
    },
)
"""The rows of one number of heads each, at equal parameters."""
