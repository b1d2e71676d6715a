"""What each of several ranks holds of one attention layer, and what it sends, forward.

Three cuts. By heads: a rank has its heads' part of the matrices, and their outputs are added
up. By tokens, heads exchanged: every rank has all matrices and a block of the text; around
attend it has all tokens of some heads. By tokens, keys going round: queries stay, and every
block of keys and values (or of latents) visits every rank.

Source: Shoeybi et al., "Megatron-LM", arXiv 1909.08053; Jacobs et al., "DeepSpeed Ulysses",
arXiv 2309.14509; Liu et al., "Ring Attention", arXiv 2310.01889.
"""

from dataclasses import dataclass

from mhsa_book import costs
from mhsa_book.costs import variant_costs
from mhsa_lib import checks

BY_HEADS, EXCHANGED, ROUND = "heads", "tokens, heads exchanged", "tokens, keys go round"
CUTS = (BY_HEADS, EXCHANGED, ROUND)
MOST_RANKS = 64


@dataclass(frozen=True)
class Layer:
    """Sizes of a layer and its text; with ``d_latent`` all heads are made from one latent."""

    d_model: int
    n_heads: int
    n_kv_heads: int
    d_head: int
    tokens: int
    d_latent: int = 0
    d_rope: int = 0

    @property
    def matrices(self) -> dict[str, int]:
        """Learned numbers, by matrix."""
        sizes = self.d_model, self.n_heads
        if not self.d_latent:
            shared = self.n_kv_heads, self.d_head
            return costs.parameters(*sizes, n_kv_heads=shared[0], d_head=shared[1])
        widths = self.d_latent, self.d_rope
        return variant_costs.latent(*sizes, *widths, n=1, d_head=self.d_head).parameters

    @property
    def kept(self) -> int:
        """Numbers that a token leaves for others to look at: k and v, or a latent and a key."""
        both = 2 * self.n_kv_heads * self.d_head
        return self.d_latent + self.d_rope if self.d_latent else both


@dataclass(frozen=True)
class Share:
    """One rank: bytes of its matrices, of keys and values that it keeps, of what it sends."""

    matrices: int
    kept: int
    sent: dict[str, int]


def share(layer: Layer, cut: str, ranks: int, *, itemsize: int = 2) -> Share:
    """What one of ``ranks`` holds and sends. Raises ``ValueError`` as ``refused`` says.

    By heads, heads of keys are copied where there are fewer of them than ranks.

    >>> layer = Layer(16_384, 128, 8, 128, tokens=4096)
    >>> [share(layer, BY_HEADS, ranks).kept for ranks in (1, 8, 16)]
    [16777216, 2097152, 2097152]
    """
    wrong = refused(layer, cut, ranks)
    if wrong:
        raise ValueError(wrong)
    n, block = layer.tokens * itemsize, layer.tokens // ranks * itemsize
    width = layer.n_heads * layer.d_head
    if cut == BY_HEADS:
        matrices = sum(_held(layer, name, ranks) for name in layer.matrices)
        kept = layer.kept if layer.d_latent else layer.kept // min(ranks, layer.n_kv_heads)
        total = n * layer.d_model
        return Share(
            itemsize * matrices, n * kept, {"sum of y": 2 * (ranks - 1) * total // ranks}
        )
    whole = itemsize * sum(layer.matrices.values())
    if cut == EXCHANGED:
        both = {"q": width, "k and v": layer.kept, "z": width}
        sent = {name: block * size * (ranks - 1) // ranks for name, size in both.items()}
        return Share(whole, block * layer.kept, sent)
    passed = "latents" if layer.d_latent else "k and v"
    return Share(whole, block * layer.kept, {passed: (ranks - 1) * block * layer.kept})


def possible(layer: Layer, cut: str) -> list[int]:
    """Numbers of ranks, up to ``MOST_RANKS``, that can share the layer evenly.

    >>> possible(Layer(12, 4, 2, 3, tokens=6), EXCHANGED)
    [1, 2]
    """
    return [n for n in range(1, MOST_RANKS + 1) if not _uneven(layer, cut, n)]


def refused(layer: Layer, cut: str, ranks: int) -> str | None:
    """Why so many ranks cannot share the layer, with what would do; None if they can.

    >>> print(refused(Layer(12, 4, 2, 3, tokens=6), EXCHANGED, ranks=4))
    4 ranks cannot share n_kv_heads=2 evenly; possible numbers of ranks: 1, 2.
    """
    if cut not in CUTS:
        raise ValueError(f"cut={cut!r} is unknown; choose one of {list(CUTS)}.")
    checks.positive(ranks=ranks)
    if cut == EXCHANGED and layer.d_latent:
        return "a latent belongs to all heads and cannot be exchanged by heads; cut by heads."
    uneven = _uneven(layer, cut, ranks)
    if not uneven:
        return None
    fits = ", ".join(map(str, possible(layer, cut)))
    return f"{ranks} ranks cannot share {uneven} evenly; possible numbers of ranks: {fits}."


def _uneven(layer: Layer, cut: str, ranks: int) -> str:
    """The size that so many ranks cannot share, with its name, or nothing."""
    n_kv_heads = layer.n_heads if layer.d_latent else layer.n_kv_heads
    copied = cut == BY_HEADS and ranks % n_kv_heads == 0
    if cut != ROUND and layer.n_heads % ranks:
        return f"n_heads={layer.n_heads}"
    if cut != ROUND and n_kv_heads % ranks and not copied:
        return f"n_kv_heads={n_kv_heads}"
    return f"tokens={layer.tokens}" if cut != BY_HEADS and layer.tokens % ranks else ""


def _held(layer: Layer, name: str, ranks: int) -> int:
    """Numbers of a matrix that a rank holds when the layer is cut by heads."""
    whole = layer.matrices[name]
    if name in ("W_DKV", "norms"):
        return whole
    if name in ("W_K", "W_V"):
        return whole // min(ranks, layer.n_kv_heads)
    return whole // ranks
