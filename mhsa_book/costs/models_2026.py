"""Ten models of late 2025 and 2026: what each layer keeps, reads and rotates, as published.

``configurations`` holds models that are the same in every layer. These are not, so each is a
sequence of layers here, and the bytes of a sequence follow from the layers. The sizes are those
of the published ``config.json`` of each model; where its code is in transformers 5.23, the
tests run that code and count what its cache really holds.

Bytes are those of 16-bit numbers, and of 32-bit ones for the recurrent states, which are kept
in float32. A server often keeps fewer: a cache in 8 bits takes half.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from textwrap import wrap

from mhsa_lib import checks

KINDS = {
    "global": "keeps every token and reads every token",
    "chosen": "keeps every token and reads a few that an indexer chooses",
    "merged": "keeps one entry for many tokens and reads every entry",
    "merged+chosen": "keeps one entry for a few tokens and reads entries that are chosen",
    "borrowed": "keeps a window and reads entries that an earlier layer keeps",
    "window": "keeps and reads the last tokens only",
    "state": "keeps a matrix of fixed size instead of tokens",
}
"""What a layer can be, from most to least kept."""

LENGTHS = (4_096, 131_072, 1_048_576)
"""The lengths that the book compares: 4k, 128k and 1M tokens."""


@dataclass(frozen=True)
class Layer:
    """What one layer keeps of a sequence.

    A layer may keep up to three things. It keeps ``per_entry`` numbers for every ``merge``
    tokens. It keeps ``per_window_token`` numbers for each of the last ``window`` tokens (a
    query counts itself). And it keeps ``state_bytes`` bytes however long the sequence is.
    ``per_entry`` contains the key of the indexer, where there is one.
    """

    kind: str
    per_entry: int = 0
    merge: int = 1
    per_window_token: int = 0
    window: int = 0
    state_bytes: int = 0

    def kept_bytes(self, n_tokens: int, *, itemsize: int = 2) -> int:
        """Bytes that are kept of ``n_tokens``; an entry that is not full yet is left out.

        >>> Layer("global", per_entry=2 * 8 * 128).kept_bytes(1000)
        4096000
        """
        checks.positive(n_tokens=n_tokens, itemsize=itemsize)
        near = self.per_window_token * min(n_tokens, self.window)
        return (self.per_entry * (n_tokens // self.merge) + near) * itemsize + self.state_bytes


@dataclass(frozen=True)
class Model:
    """A published model: its layers in order, and in words what they do besides keeping.

    ``published`` is the month of the weights, ``longest`` the longest sequence that the
    configuration is made for, ``heads`` names query heads, KV heads and widths, ``positions``
    which layers rotate what, ``chooses`` what is selected for a query, ``extras`` sinks,
    gates, norms and caps, and ``source`` where the numbers were read.
    """

    name: str
    published: str
    longest: int
    layers: tuple[Layer, ...]
    heads: str
    positions: str
    chooses: str
    extras: str
    source: str

    def kept_bytes(self, n_tokens: int, *, itemsize: int = 2) -> int:
        """Bytes that all layers keep of one sequence.

        States count with the 4 bytes of float32, all else with ``itemsize``. A length above
        ``longest`` is not refused: it says what the rule would cost there.

        >>> round(find("DeepSeek-V4-Flash").kept_bytes(131_072) / 2**30, 2)
        0.85
        """
        return sum(layer.kept_bytes(n_tokens, itemsize=itemsize) for layer in self.layers)

    def counts(self) -> dict[str, int]:
        """Number of layers of each kind, in the order of ``KINDS``.

        >>> find("Gemma 4 31B").counts()
        {'global': 10, 'window': 50}
        """
        kinds = [layer.kind for layer in self.layers]
        return {kind: kinds.count(kind) for kind in KINDS if kind in kinds}

    def runs(self) -> Iterator[tuple[str, int]]:
        """The layers from first to last, equal neighbours as one: kind and how many.

        >>> list(find("Gemma 4 31B").runs())[:2]
        [('window', 5), ('global', 1)]
        """
        for kind, run in groupby(self.layers, lambda layer: layer.kind):
            yield kind, len(list(run))


def describe(model: Model) -> str:
    """The words of a model, a line for each, for a page.

    >>> print(describe(find("gpt-oss-120b")))  # doctest: +ELLIPSIS
    gpt-oss-120b (2025-08), made for 131,072 tokens
      layers     18 global, 18 window
      heads      64 query heads, 8 KV heads of 64
      ...
    """
    layers = ", ".join(f"{n} {kind}" for kind, n in model.counts().items())
    words = {"layers": layers, "heads": model.heads, "positions": model.positions}
    words |= {"chosen": model.chooses, "besides": model.extras}
    lines = [f"{model.name} ({model.published}), made for {model.longest:,} tokens"]
    for name, text in words.items():
        lines += wrap(f"  {name:11}{text}", 86, subsequent_indent=" " * 13)
    return "\n".join(lines)


def _every(n_layers: int, period: int, last: Layer, others: Layer) -> tuple[Layer, ...]:
    """Every ``period``-th layer is ``last``, counted from one."""
    return tuple(others if (i + 1) % period else last for i in range(n_layers))


def _grouped(n_kv_heads: int, d_key: int, d_value: int | None = None) -> int:
    """Numbers that a token leaves in a layer with KV heads: its keys and its values."""
    return n_kv_heads * (d_key + (d_key if d_value is None else d_value))


def _delta(n_heads: int, d_key: int, d_value: int, channels: int, kernel: int = 4) -> Layer:
    """A state of float32 for each head, and the last inputs of a short convolution in 16 bits.

    transformers keeps ``kernel`` columns of those inputs; a server can do with one less.
    """
    return Layer("state", state_bytes=4 * n_heads * d_key * d_value + 2 * kernel * channels)


_TF = "transformers 5.23, defaults of its configuration class"
_READ = "config.json, recorded 2026-09-28 in mondegreens/apron, tests/fixtures/cohort/headers"

_GPT_OSS = _every(
    36,
    2,
    Layer("global", per_entry=_grouped(8, 64)),
    Layer("window", per_window_token=_grouped(8, 64), window=128),
)
_MIMO_WINDOW = Layer("window", per_window_token=_grouped(8, 192, 128), window=129)
_MIMO_GLOBAL = Layer("global", per_entry=_grouped(4, 192, 128))
_STEP_WINDOW = Layer("window", per_window_token=_grouped(8, 128), window=512)
_STEP_GLOBAL = Layer("global", per_entry=_grouped(8, 128))
_K3_STATE = _delta(96, 128, 128, channels=3 * 96 * 128)
_K3_LATENT = Layer("global", per_entry=512 + 64)
_GLM_OWN = Layer("chosen", per_entry=512 + 64 + 128)
_GLM_SHARED = Layer("chosen", per_entry=512 + 64)
_V4_WINDOW = Layer("window", per_window_token=512, window=128)
_V4_CSA = Layer("merged+chosen", 512 + 128, merge=4, per_window_token=512, window=128)
_V4_HCA = Layer("merged", 512, merge=128, per_window_token=512, window=128)
_V41_PAIRS = Layer("merged+chosen", 512 + 128, merge=2, per_window_token=512, window=128)
_V41_TOKENS = Layer("chosen", 512 + 128, per_window_token=512, window=128)
_V41_BORROWS = Layer("borrowed", per_window_token=512, window=128)
_V41_OWNERS = {2: _V41_PAIRS, 8: _V41_PAIRS, 14: _V41_PAIRS, 20: _V41_TOKENS}

MODELS = (
    Model(
        "MiniMax-M3",
        "2026-06",
        1_048_576,
        (Layer("global", _grouped(4, 128)),) * 3
        + (Layer("chosen", _grouped(4, 128) + 128),) * 57,
        "64 query heads, 4 KV heads of 128",
        "rotary on 64 of 128, base 5,000,000",
        "16 blocks of 128 tokens for each group of heads, the own block always",
        "RMSNorm on queries and keys",
        f"{_READ}; revision f0e1c1e0",
    ),
    Model(
        "GLM-5.3",
        "2026",
        1_048_576,
        tuple(_GLM_OWN if i < 3 or i % 4 == 2 else _GLM_SHARED for i in range(78)),
        "64 query heads on a latent of 512 (MLA)",
        "a rotated key of 64 beside the latent",
        "2,048 tokens; 21 layers choose, the other 57 take the choice of the one before",
        "RMSNorm on both latents",
        f"{_READ}; revision aca966e4",
    ),
    Model(
        "Gemma 4 31B",
        "2026-04",
        262_144,
        _every(
            60,
            6,
            Layer("global", per_entry=_grouped(4, 512)),
            Layer("window", per_window_token=_grouped(16, 256), window=1024),
        ),
        "32 query heads; window: 16 KV heads of 256; global: 4 of 512, one projection for both",
        "window: rotary, base 10,000; global: a quarter of the width, base 1,000,000",
        "nothing",
        "RMSNorm on queries, keys and values; soft cap 30 on the output logits",
        "config.json as recorded by mondegreens/apron, tests of layered.py, 2026-09-27",
    ),
    Model(
        "Step-3.5-Flash",
        "2026-02",
        262_144,
        tuple(_STEP_WINDOW if i % 4 else _STEP_GLOBAL for i in range(45)),
        "64 query heads in global layers, 96 in windows; 8 KV heads of 128",
        "window: rotary, base 10,000; global: half of the width, base 5,000,000",
        "nothing",
        "RMSNorm on queries and keys; a sigmoid gate for each head",
        "config.json in amd/Step-3.5-Flash-MXFP4 on huggingface.co",
    ),
    Model(
        "gpt-oss-120b",
        "2025-08",
        131_072,
        _GPT_OSS,
        "64 query heads, 8 KV heads of 64",
        "rotary everywhere, base 150,000, stretched 32 times (YaRN)",
        "nothing",
        "a learned sink for each head; biases",
        _TF,
    ),
    Model(
        "Kimi K3",
        "2026-07",
        1_048_576,
        tuple(_K3_LATENT if i % 4 == 3 or i == 92 else _K3_STATE for i in range(93)),
        "96 query heads on a latent of 512 (MLA); states: 96 heads of 128 by 128",
        "none anywhere; 64 numbers beside the latent are kept and never rotated",
        "nothing",
        "RMSNorm on the latents; an output gate in every layer (KDA)",
        "config.json as read by NVIDIA/cudnn-frontend and FareedKhan-dev/kimi-k3-in-c, 2026; "
        "norms as reported, not re-read",
    ),
    Model(
        "MiMo-V2-Flash",
        "2025-12",
        262_144,
        tuple(_MIMO_GLOBAL if i == 0 or (i + 1) % 6 == 0 else _MIMO_WINDOW for i in range(48)),
        "64 query heads; keys 192 wide, values 128; window: 8 KV heads, global: 4",
        "a third of the width; base 10,000 in windows, 5,000,000 in global layers",
        "nothing",
        "a learned sink for each head in windows; values scaled by 0.707",
        f"{_TF}; longest sequence as reported, not re-read",
    ),
    Model(
        "Qwen3.5-35B-A3B",
        "2026-02",
        262_144,
        _every(
            40,
            4,
            Layer("global", per_entry=_grouped(2, 256)),
            _delta(32, 128, 128, channels=2 * 16 * 128 + 32 * 128),
        ),
        "16 query heads, 2 KV heads of 256; states: 32 heads of 128 by 128",
        "states: none; global: a quarter of the width, base 10,000,000",
        "nothing",
        "RMSNorm on queries and keys; an output gate in every layer (gated delta rule)",
        f"{_TF}; float32 states, base, longest sequence: config.json of its family",
    ),
    Model(
        "DeepSeek-V4-Flash",
        "2026-04",
        1_048_576,
        (_V4_WINDOW,) * 2 + tuple(_V4_HCA if i % 2 else _V4_CSA for i in range(41)),
        "64 query heads on one shared vector of 512, key and value at once",
        "rotary on 64 of 512; base 10,000 in the two window layers, 160,000 elsewhere",
        "512 entries of 4 tokens each, in every other layer; a window of 128 in all",
        "a learned sink for each head; RMSNorm on queries and the shared vector",
        f"{_READ}; revision 7872f01b",
    ),
    Model(
        "DeepSeek-V4.1-Flash",
        "2026-09",
        1_048_576,
        (_V4_WINDOW,) * 2 + tuple(_V41_OWNERS.get(i, _V41_BORROWS) for i in range(2, 40)),
        "64 query heads on one shared vector of 512, key and value at once",
        "rotary on 64 of 512; base 10,000 in the two window layers, 160,000 elsewhere",
        "512 entries; 8 layers choose, 4 keep what 38 read; a window of 128 in all",
        "a learned sink for each head; RMSNorm on queries and the shared vector",
        f"{_READ}; revision dba1be0a",
    ),
)
"""Ten published models, from most to least kept at 131,072 tokens."""


def find(name: str, models: Sequence[Model] = MODELS) -> Model:
    """The model of that name.

    >>> find("Kimi K3").counts()
    {'global': 24, 'state': 69}
    >>> find("K3")
    Traceback (most recent call last):
    ...
    ValueError: 'K3' is not in this list; choose one of 'MiniMax-M3', 'GLM-5.3', ...
    """
    known = {model.name: model for model in models}
    if name not in known:
        names = ", ".join(map(repr, known))
        raise ValueError(f"{name!r} is not in this list; choose one of {names}.")
    return known[name]
