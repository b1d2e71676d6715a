"""One attention layer on several ranks: who holds what, and what is sent."""

from typing import Any

from traitlets import Int, List, Unicode, validate

from mhsa_book import plots
from mhsa_book.costs import sharing
from mhsa_book.costs.configurations import find
from mhsa_book.widgets.figure import Figure

SMALL = "4 heads of width 3"
KEYS = ["a head of keys each", "grouped", "latent"]
OPTIONS = {
    "model": [SMALL, "Llama 3.1 70B", "Llama 3.1 405B"],
    "kind": KEYS,
    "cut": list(sharing.CUTS),
}


class RanksLab(Figure):
    """One layer cut by heads or by tokens: what each rank holds, what is copied, what is sent.

    Every trait can be set from Python and is set by the reader: ``model``, ``kind`` ("a head of
    keys each", "grouped" as the model has them, or "latent"), ``cut`` (one of
    ``costs.sharing.CUTS``) and ``ranks``. A real model gets 4,096 tokens, and the latent that
    DeepSeek-V2 would give its heads. Ranks that cannot share evenly are explained in the
    figure and by ``refusal``, with the repair. Raises ``ValueError`` for a word that is not a
    choice, ``TraitError`` for more ranks than 64.

    >>> lab = RanksLab(ranks=16)
    >>> lab.share.kept == RanksLab(ranks=8).share.kept
    True
    """

    model = Unicode("Llama 3.1 405B").tag(sync=True)
    kind = Unicode("grouped").tag(sync=True)
    cut = Unicode(sharing.BY_HEADS).tag(sync=True)
    ranks = Int(4, min=1, max=sharing.MOST_RANKS).tag(sync=True)
    models: "List[Any]" = List().tag(sync=True)

    def __init__(self, **choices: Any) -> None:
        models = [{"name": name, **SIZES[name]} for name in OPTIONS["model"]]
        super().__init__(models=models, **choices)

    @validate(*OPTIONS)
    def _is_a_choice(self, proposal: Any) -> Any:
        name, value = proposal.trait.name, proposal.value
        if value not in OPTIONS[name]:
            raise ValueError(f"{name}={value!r} is unknown; choose one of {OPTIONS[name]}.")
        return value

    @property
    def layer(self) -> sharing.Layer:
        """The sizes of the model, with heads of keys as chosen."""
        sizes = dict(SIZES[self.model])
        if self.kind == KEYS[0]:
            sizes["n_kv_heads"] = sizes["n_heads"]
        if self.kind != "latent":
            sizes |= {"d_latent": 0, "d_rope": 0}
        return sharing.Layer(**sizes)

    @property
    def share(self) -> sharing.Share:
        """What one rank holds and sends. Raises ``ValueError`` if they cannot share evenly."""
        return sharing.share(self.layer, self.cut, self.ranks)

    @property
    def refusal(self) -> str | None:
        """Why these ranks cannot share the layer, with a repair; None if they can."""
        return sharing.refused(self.layer, self.cut, self.ranks)

    @property
    def bars(self) -> dict[str, float]:
        """MiB of one rank, by what they are."""
        own = {"matrices held": self.share.matrices, "k and v held": self.share.kept}
        sent = {f"sent: {name}": size for name, size in self.share.sent.items()}
        return {name: size / 2**20 for name, size in (own | sent).items()}

    @property
    def alt(self) -> str:
        said = ", ".join(f"{name} {size:.3g}" for name, size in self.bars.items())
        return (
            f"Bars in MiB, one of {self.ranks} ranks, {self.model} cut by {self.cut}: {said}."
        )

    def still(self) -> None:
        plots.bars(self.bars, f"MiB, one of {self.ranks} ranks")


def sizes(name: str) -> dict[str, int]:
    """A layer of a real model, on 4,096 tokens, with the latent that its heads would get."""
    model = find(name)
    return {
        "d_model": model.d_model,
        "n_heads": model.n_heads,
        "n_kv_heads": model.n_kv_heads,
        "d_head": model.d_head,
        "tokens": 4096,
        "d_latent": 4 * model.d_head,
        "d_rope": model.d_head // 2,
    }


SIZES = {
    SMALL: {"d_model": 12, "n_heads": 4, "n_kv_heads": 2, "d_head": 3, "tokens": 6}
    | {"d_latent": 4, "d_rope": 2},
    **{name: sizes(name) for name in OPTIONS["model"][1:]},
}
"""Sizes by model; how many heads of keys it has is that of ``grouped``."""
