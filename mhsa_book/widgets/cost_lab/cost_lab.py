"""What attention of a real model costs on a real accelerator: memory and a roofline."""

from dataclasses import asdict, replace
from typing import Any

from traitlets import Bool, Int, List, Unicode, validate

from mhsa_book import plots
from mhsa_book.costs.configurations import ACCELERATORS, CONFIGURATIONS, Configuration, find
from mhsa_book.widgets.figure import Figure
from mhsa_book.widgets.rules import Rule, one_of

NUMBER_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2, "int8": 1}
OPTIONS = {
    "model": [model.name for model in CONFIGURATIONS],
    "variant": ["MHA", "as configured", "MQA"],
    "phase": ["prefill", "decode"],
    "accelerator": [accelerator.name for accelerator in ACCELERATORS],
    "dtype": ["bfloat16", "float16", "float32"],
    "cache_dtype": list(NUMBER_BYTES),
}


class CostLab(Figure):
    """Bytes of weights, activations and cache; each stage under the roof of an accelerator.

    Every trait can be set from Python and is set by the reader: ``model`` and ``accelerator``
    (names of ``mhsa_book.costs.configurations``), ``variant`` ("MHA", "as configured", "MQA"),
    ``phase`` ("prefill" or "decode"), ``context`` in tokens, ``batch``, ``dtype``,
    ``cache_dtype``, and ``fused`` (scores are never written to memory). Raises ``ValueError``
    for a word that is not a choice, ``TraitError`` for a size outside its dial.

    >>> lab = CostLab(model="Llama 3.1 8B", context=131_072)
    >>> lab.cache_bytes / 2**30
    16.0
    """

    model = Unicode("Llama 3.1 8B").tag(sync=True)
    variant = Unicode("as configured").tag(sync=True)
    phase = Unicode("decode").tag(sync=True)
    context = Int(131_072, min=1, max=1_048_576).tag(sync=True)
    batch = Int(1, min=1, max=1024).tag(sync=True)
    dtype = Unicode("bfloat16").tag(sync=True)
    cache_dtype = Unicode("bfloat16").tag(sync=True)
    accelerator = Unicode("H200 SXM").tag(sync=True)
    fused = Bool(True).tag(sync=True)
    models: "List[Any]" = List().tag(sync=True)
    accelerators: "List[Any]" = List().tag(sync=True)

    def __init__(self, **choices: Any) -> None:
        models = [asdict(model) for model in CONFIGURATIONS]
        accelerators = [asdict(accelerator) for accelerator in ACCELERATORS]
        super().__init__(models=models, accelerators=accelerators, **choices)

    @validate(*OPTIONS)
    def _is_a_choice(self, proposal: Any) -> str:
        name, value = proposal.trait.name, proposal.value
        if value not in OPTIONS[name]:
            raise ValueError(f"{name}={value!r} is unknown; choose one of {OPTIONS[name]}.")
        return value

    @property
    def configuration(self) -> Configuration:
        """The model, with as many heads for keys and values as the variant has."""
        model = find(self.model)
        few = {"MHA": model.n_heads, "as configured": model.n_kv_heads, "MQA": 1}
        return replace(model, n_kv_heads=few[self.variant])

    @property
    def cache_bytes(self) -> int:
        """Bytes of the cache as chosen."""
        size = NUMBER_BYTES[self.cache_dtype]
        return self.configuration.cache_bytes(self.context, batch=self.batch, itemsize=size)

    def rules(self) -> dict[str, Rule]:
        """What a reload or a link may bring back, as ``Figure.rules``."""
        return super().rules() | {name: one_of(options) for name, options in OPTIONS.items()}

    @property
    def alt(self) -> str:
        memory = find(self.accelerator, ACCELERATORS).memory
        return (
            f"Bars in GiB: the cache of {self.model} for {self.context} tokens is "
            f"{self.cache_bytes / 2**30:.3g}, one {self.accelerator} has {memory / 2**30:.3g}."
        )

    def still(self) -> None:
        model, size = self.configuration, NUMBER_BYTES[self.dtype]
        counts = {
            "four projections, all layers": model.layers
            * sum(model.parameters().values())
            * size,
            f"cache, {model.n_kv_heads} of {model.n_heads} heads": self.cache_bytes,
            f"memory of one {self.accelerator}": find(self.accelerator, ACCELERATORS).memory,
        }
        plots.bars({name: count / 2**30 for name, count in counts.items()}, "GiB")
