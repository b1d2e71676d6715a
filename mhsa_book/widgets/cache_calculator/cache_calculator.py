"""What decoding keeps: the cache of a model in four kinds, beside an accelerator's memory."""

from dataclasses import asdict
from typing import Any

from traitlets import Int, List, Unicode, validate

from mhsa_book import plots
from mhsa_book.costs.configurations import ACCELERATORS, CONFIGURATIONS, LATENT, Latent, find
from mhsa_book.widgets.cost_lab import NUMBER_BYTES
from mhsa_book.widgets.figure import Figure
from mhsa_book.widgets.rules import Rule, one_of, or_none
from mhsa_book.widgets.sizes import problem_of

OWN = "own sizes"
SIZES = ("layers", "n_heads", "n_kv_heads", "d_head", "d_latent", "d_rope")
MODELS = (*CONFIGURATIONS, *LATENT)
OPTIONS = {
    "model": [*(model.name for model in MODELS), OWN],
    "kind": ["MHA", "GQA", "MQA", "MLA"],
    "dtype": list(NUMBER_BYTES),
    "accelerator": [accelerator.name for accelerator in ACCELERATORS],
}


class CacheCalculator(Figure):
    """Bytes that decoding keeps, for a real model or sizes of one's own, in four kinds.

    Every trait can be set from Python and is set by the reader: ``model`` (a name of
    ``mhsa_book.costs.configurations``, or "own sizes", which are then ``layers``, ``n_heads``,
    ``n_kv_heads``, ``d_head``, ``d_latent`` and ``d_rope``), ``kind`` ("MHA", "GQA", "MQA",
    "MLA"; None for what the model has), ``tokens``, ``sequences``, ``dtype`` and
    ``accelerator``. Raises ``ValueError`` for a word that is not a choice, ``TraitError`` for a
    size outside its dial; heads that do not divide are explained in the figure and by
    ``refusal``.

    >>> CacheCalculator(model="DeepSeek-V3", tokens=1).cache_bytes
    70272
    >>> CacheCalculator(model="Llama 3.1 8B", kind="MHA").cache_bytes / 2**30
    64.0
    """

    model = Unicode("Llama 3.1 8B").tag(sync=True)
    kind = Unicode(None, allow_none=True).tag(sync=True)
    layers = Int(32, min=1, max=512).tag(sync=True)
    n_heads = Int(32, min=1, max=512).tag(sync=True)
    n_kv_heads = Int(8, min=1, max=512).tag(sync=True)
    d_head = Int(128, min=1, max=2048).tag(sync=True)
    d_latent = Int(512, min=1, max=16_384).tag(sync=True)
    d_rope = Int(64, min=1, max=2048).tag(sync=True)
    tokens = Int(131_072, min=1, max=16_777_216).tag(sync=True)
    sequences = Int(1, min=1, max=4096).tag(sync=True)
    dtype = Unicode("bfloat16").tag(sync=True)
    accelerator = Unicode("H200 SXM").tag(sync=True)
    models: "List[Any]" = List().tag(sync=True)
    accelerators: "List[Any]" = List().tag(sync=True)

    def __init__(self, **choices: Any) -> None:
        accelerators = [asdict(accelerator) for accelerator in ACCELERATORS]
        models = [sizes(model) for model in MODELS]
        super().__init__(models=models, accelerators=accelerators, **choices)

    @validate(*OPTIONS)
    def _is_a_choice(self, proposal: Any) -> Any:
        name, value = proposal.trait.name, proposal.value
        if value not in OPTIONS[name] and (name, value) != ("kind", None):
            raise ValueError(f"{name}={value!r} is unknown; choose one of {OPTIONS[name]}.")
        return value

    @property
    def sizes(self) -> dict[str, Any]:
        """Sizes of the model, or one's own, by name; ``kind`` is what the model has."""
        own = {"kind": "GQA"} | {name: getattr(self, name) for name in SIZES}
        return own if self.model == OWN else sizes(find(self.model, MODELS))

    @property
    def refusal(self) -> str | None:
        """Why these heads do not go together, with a repair; None if they do."""
        heads = {name: self.sizes[name] for name in ("n_heads", "n_kv_heads", "d_head")}
        return problem_of(d_model=heads["n_heads"] * heads["d_head"], **heads)

    @property
    def kept(self) -> dict[str, int]:
        """Numbers that each kind keeps of a token in one layer."""
        s = self.sizes
        heads = {"MHA": s["n_heads"], "GQA": s["n_kv_heads"], "MQA": 1}
        shared = {kind: 2 * n * s["d_head"] for kind, n in heads.items()}
        return shared | {"MLA": s["d_latent"] + s["d_rope"]}

    def total(self, kind: str) -> int:
        """Bytes of all tokens of all sequences in all layers."""
        size = self.sizes["layers"] * NUMBER_BYTES[self.dtype]
        return self.sequences * self.tokens * size * self.kept[kind]

    @property
    def cache_bytes(self) -> int:
        """Bytes of the cache as chosen."""
        return self.total(self.kind or self.sizes["kind"])

    def rules(self) -> dict[str, Rule]:
        """What a reload or a link may bring back, as ``Figure.rules``."""
        choices = {name: one_of(options) for name, options in OPTIONS.items()}
        return super().rules() | choices | {"kind": or_none(choices["kind"])}

    @property
    def alt(self) -> str:
        memory = find(self.accelerator, ACCELERATORS).memory
        return (
            f"Bars in GiB: the cache of {self.model} for {self.tokens} tokens is "
            f"{self.cache_bytes / 2**30:.3g}, one {self.accelerator} has {memory / 2**30:.3g}."
        )

    def still(self) -> None:
        bars = {f"cache, {kind}": self.total(kind) for kind in self.kept}
        bars[f"memory of one {self.accelerator}"] = find(self.accelerator, ACCELERATORS).memory
        plots.bars({name: count / 2**30 for name, count in bars.items()}, "GiB")


def sizes(model: Any) -> dict[str, Any]:
    """What the figure has to know of a model.

    One that keeps keys and values gets the latent that DeepSeek-V2 would give its heads, 4
    d_head and d_head / 2 wide; one that keeps a latent is compared with 8 heads.
    """
    given = asdict(model)
    own = {"kind": "MLA", "n_kv_heads": 8}
    if not isinstance(model, Latent):
        own = {"kind": "GQA", "d_latent": 4 * model.d_head, "d_rope": model.d_head // 2}
    names = ("name", "source", *SIZES)
    note = {"note": given.get("note", "")}
    return {name: given[name] for name in names if name in given} | note | own
