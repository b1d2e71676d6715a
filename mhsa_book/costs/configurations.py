"""Sizes of real models and limits of real accelerators, as data.

The sizes are those of published configuration files and of code that loads the published
weights; the peaks are dense ones (vendors like to print those with sparsity, which are twice
as large). Costs of a configuration follow from the formulas of ``mhsa_book.costs``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from mhsa_book import costs
from mhsa_book.costs import variant_costs
from mhsa_lib import checks


@dataclass(frozen=True)
class Configuration:
    """The attention of a model: its sizes, the same in every layer.

    ``biases`` names the projections that have one: "", "QKV" or "QKVO". Where there is a
    ``window``, only ``global_layers`` keep all tokens, and the others the last ``window`` ones.
    ``longest`` is the longest text that the model has positions for, where these are a table.
    """

    name: str
    layers: int
    d_model: int
    n_heads: int
    n_kv_heads: int
    d_head: int
    biases: str = ""
    note: str = ""
    source: str = "litgpt, configurations of published weights"
    window: int = 0
    global_layers: int = 0
    longest: int | None = None

    def with_kv_heads(self, n_kv_heads: int) -> "Configuration":
        """The same model with more or fewer heads for keys and values."""
        return replace(self, n_kv_heads=n_kv_heads)

    def parameters(self) -> dict[str, int]:
        """Learned numbers of the four projections of one layer."""
        sizes = self.d_model, self.n_heads
        shared: dict[str, Any] = {"n_kv_heads": self.n_kv_heads, "d_head": self.d_head}
        bare = costs.parameters(*sizes, **shared)
        biased = costs.parameters(*sizes, **shared, bias=True)
        return {name: biased[name] if name[-1] in self.biases else bare[name] for name in bare}

    def cache_bytes(self, n_tokens: int, *, batch: int = 1, itemsize: int = 2) -> int:
        """Bytes of all layers' keys and values; every layer is taken to keep every token."""
        sizes = {"layers": self.layers, "batch": batch, "itemsize": itemsize}
        return costs.cache_bytes(n_tokens, self.n_kv_heads, self.d_head, **sizes)

    def kept_bytes(self, n_tokens: int) -> int:
        """Bytes of the keys and values that are looked at again, in 16 bits.

        A layer with a window keeps no more than the window. Raises ``ValueError`` for a text
        that is longer than the model has positions for.

        >>> gemma, n = find("Gemma 3 27B"), 131_072
        >>> round(gemma.cache_bytes(n) / 2**30, 1), round(gemma.kept_bytes(n) / 2**30, 1)
        (62.0, 10.4)
        """
        if self.longest is not None and n_tokens > self.longest:
            raise ValueError(
                f"n_tokens={n_tokens:,}, and {self.name} has positions for {self.longest:,}; "
                f"take a shorter text."
            )
        if not self.window:
            return self.cache_bytes(n_tokens)
        near = replace(self, layers=self.layers - self.global_layers)
        far = replace(self, layers=self.global_layers)
        return far.cache_bytes(n_tokens) + near.cache_bytes(min(n_tokens, self.window))


@dataclass(frozen=True)
class Latent:
    """Latent attention keeps one latent and one rotated key per token, for all heads."""

    name: str
    layers: int
    d_model: int
    n_heads: int
    d_latent: int = 512
    d_rope: int = 64
    d_head: int = 128
    d_q_latent: int | None = 1536
    source: str = "DeepSeek, published configuration"

    @property
    def cached(self) -> int:
        """Numbers that a token leaves in the cache of one layer."""
        return self.d_latent + self.d_rope

    def parameters(self) -> dict[str, int]:
        """Learned numbers of one layer's attention, the gains of its norms included.

        >>> sum(DEEPSEEK_V3.parameters().values()) - DEEPSEEK_V3.parameters()["norms"]
        187105280
        """
        sizes = self.d_model, self.n_heads, self.d_latent, self.d_rope
        shared: dict[str, Any] = {"d_head": self.d_head, "d_q_latent": self.d_q_latent}
        return variant_costs.latent(*sizes, n=1, **shared).parameters

    def cache_bytes(self, n_tokens: int, *, batch: int = 1, itemsize: int = 2) -> int:
        """Bytes of all layers' latents and rotated keys.

        >>> DEEPSEEK_V3.cache_bytes(1)
        70272
        """
        checks.positive(n_tokens=n_tokens, batch=batch, itemsize=itemsize)
        return self.layers * batch * n_tokens * self.cached * itemsize

    def kept_bytes(self, n_tokens: int) -> int:
        """The same in 16 bits: every layer looks at all tokens."""
        return self.cache_bytes(n_tokens)

    def with_kv_heads(self, n_kv_heads: int) -> Configuration:
        """What it would be if heads, or groups of them, had keys and values ``d_head`` wide.

        >>> DEEPSEEK_V3.with_kv_heads(128).cache_bytes(1) / DEEPSEEK_V3.cache_bytes(1)
        56.888888888888886
        """
        sizes = self.layers, self.d_model, self.n_heads, n_kv_heads, self.d_head
        return Configuration(self.name, *sizes, source=self.source)


@dataclass(frozen=True)
class Accelerator:
    """Peak FLOPs per second by dtype, bytes per second to memory, and bytes of memory."""

    name: str
    peak: dict[str, float]
    bandwidth: float
    memory: int
    source: str = "specification page"


@dataclass(frozen=True)
class Trained:
    """A model of Vaswani et al., Table 3 rows (A): one run, on the development set."""

    n_heads: int
    perplexity: float
    bleu: float


_GPT2: dict[str, Any] = {
    "d_head": 64,
    "biases": "QKVO",
    "source": "nanoGPT",
    "longest": 1024,
}
_QWEN: dict[str, Any] = {"biases": "QKV"}
_FREE: dict[str, Any] = {"note": "n_heads · d_head is not d_model"}


def _local(window: int, global_layers: int) -> dict[str, Any]:
    note = "some layers keep only a window of the tokens; cache_bytes counts all of them"
    return {"note": note, "window": window, "global_layers": global_layers}


CONFIGURATIONS = (
    Configuration("GPT-2", 12, 768, 12, 12, **_GPT2),
    Configuration("GPT-2 medium", 24, 1024, 16, 16, **_GPT2),
    Configuration("GPT-2 large", 36, 1280, 20, 20, **_GPT2),
    Configuration("GPT-2 XL", 48, 1600, 25, 25, **_GPT2),
    Configuration("Llama 3.1 8B", 32, 4096, 32, 8, 128),
    Configuration("Llama 3.1 70B", 80, 8192, 64, 8, 128),
    Configuration("Llama 3.1 405B", 126, 16384, 128, 8, 128),
    Configuration("Llama 3.2 1B", 16, 2048, 32, 8, 64),
    Configuration("Llama 3.2 3B", 28, 3072, 24, 8, 128),
    Configuration("Qwen2.5 0.5B", 24, 896, 14, 2, 64, **_QWEN),
    Configuration("Qwen2.5 7B", 28, 3584, 28, 4, 128, **_QWEN),
    Configuration("Qwen2.5 14B", 48, 5120, 40, 8, 128, **_QWEN),
    Configuration("Qwen2.5 72B", 80, 8192, 64, 8, 128, **_QWEN),
    Configuration("Qwen3 0.6B", 28, 1024, 16, 8, 128, **_FREE),
    Configuration("Qwen3 4B", 36, 2560, 32, 8, 128, **_FREE),
    Configuration("Qwen3 32B", 64, 5120, 64, 8, 128, **_FREE),
    Configuration("Qwen3 30B-A3B", 48, 2048, 32, 4, 128, **_FREE),
    Configuration("Qwen3 235B-A22B", 94, 4096, 64, 4, 128, **_FREE),
    Configuration("Gemma 2B", 18, 2048, 8, 1, 256),
    Configuration("Gemma 7B", 28, 3072, 16, 16, 256, **_FREE),
    Configuration("Gemma 2 2B", 26, 2304, 8, 4, 256, **_local(4096, 13)),
    Configuration("Gemma 2 9B", 42, 3584, 16, 8, 256, **_local(4096, 21)),
    Configuration("Gemma 2 27B", 46, 4608, 32, 16, 128, **_local(4096, 23)),
    Configuration("Gemma 3 1B", 26, 1152, 4, 1, 256, **_local(512, 4)),
    Configuration("Gemma 3 4B", 34, 2560, 8, 4, 256, **_local(1024, 5)),
    Configuration("Gemma 3 12B", 48, 3840, 16, 8, 256, **_local(1024, 8)),
    Configuration("Gemma 3 27B", 62, 5376, 32, 16, 128, **_local(1024, 10)),
)
"""Models whose heads keep keys and values, one per group of heads."""

DEEPSEEK_V2_LITE = Latent("DeepSeek-V2-Lite", 27, 2048, 16, d_q_latent=None)
"""Its queries come from the token, without a latent of their own."""

DEEPSEEK_V2 = Latent("DeepSeek-V2", 60, 5120, 128)
"""The first to keep a latent for each token where the others keep keys and values."""

DEEPSEEK_V3 = Latent("DeepSeek-V3", 61, 7168, 128)
"""The widths of its heads and latents are those of DeepSeek-V2."""

LATENT = (DEEPSEEK_V2_LITE, DEEPSEEK_V2, DEEPSEEK_V3)
"""Models that keep latents."""


def _half(peak: float, float32: float) -> dict[str, float]:
    return {"bfloat16": peak, "float16": peak, "float32": float32}


ACCELERATORS = (
    Accelerator("H200 SXM", _half(989e12, 67e12), 4.8e12, 141 * 10**9),
    Accelerator("H100 SXM", _half(989e12, 67e12), 3.35e12, 80 * 10**9),
    Accelerator("H100 PCIe", _half(756e12, 51e12), 2e12, 80 * 10**9, "a reseller's table"),
    Accelerator("A100 80 GB SXM", _half(312e12, 19.5e12), 2.039e12, 80 * 10**9),
    Accelerator("A100 40 GB", _half(312e12, 19.5e12), 1.555e12, 40 * 10**9),
    Accelerator("T4", {"float16": 65e12, "float32": 8.1e12}, 320e9, 16 * 10**9),
)
"""float32 without tensor cores, the others with them; a dtype that is missing has none.

The float32 peak of the H200 is taken over from the H100 SXM, which computes with the same chip.
"""

TABLE_3A = (
    Trained(n_heads=1, perplexity=5.29, bleu=24.9),
    Trained(n_heads=4, perplexity=5.00, bleu=25.5),
    Trained(n_heads=8, perplexity=4.92, bleu=25.8),
    Trained(n_heads=16, perplexity=4.91, bleu=25.8),
    Trained(n_heads=32, perplexity=5.01, bleu=25.4),
)
"""English to German, newstest2013, d_model 512, 100,000 steps, ``n_heads · d_head`` = 512."""


def find(name: str, entries: Sequence[Any] = CONFIGURATIONS) -> Any:
    """The configuration of that name, or the accelerator with ``entries=ACCELERATORS``.

    >>> find("Llama 3.1 8B").cache_bytes(131_072) / 2**30
    16.0
    >>> find("H100", ACCELERATORS)
    Traceback (most recent call last):
    ...
    ValueError: 'H100' is not in this list; choose one of 'H200 SXM', 'H100 SXM', ...
    """
    known = {entry.name: entry for entry in entries}
    if name not in known:
        raise ValueError(
            f"{name!r} is not in this list; choose one of {', '.join(map(repr, known))}."
        )
    return known[name]
