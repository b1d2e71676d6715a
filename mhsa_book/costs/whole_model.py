"""A whole language model: the least time of a prompt and of a new token, feed-forward included.

The parts are those of ``roofline.stages`` in every layer, a gated feed-forward part of three
maps, and the map to the vocabulary, for the last token of every sequence only. Norms, the table
of embeddings, of which a token reads one row, and calls count nothing: a machine needs more.

Source: Pope et al., "Efficiently Scaling Transformer Inference", arXiv 2211.05102, section 2.
"""

from dataclasses import dataclass
from typing import Any

from mhsa_book.costs import configurations, roofline
from mhsa_book.costs.roofline import Work
from mhsa_lib import checks


@dataclass(frozen=True)
class Model:
    """The attention of a model, the width of its feed-forward part, and its words.

    A ``tied`` model uses one table of words at both ends.

    >>> sum(LLAMA_8B.parameters().values()), sum(SMOLLM2.parameters().values())
    (8030261248, 134515008)
    """

    attention: configurations.Configuration
    d_ff: int
    vocabulary: int
    tied: bool = False

    def parameters(self) -> dict[str, int]:
        """Learned numbers; the embedding of a tied model counts as its unembedding."""
        some, table = self.attention, self.attention.d_model * self.vocabulary
        return {
            "attention": some.layers * sum(some.parameters().values()),
            "feed-forward": some.layers * 3 * some.d_model * self.d_ff,
            "norms": (2 * some.layers + 1) * some.d_model,
            "embedding": 0 if self.tied else table,
            "unembedding": table,
        }

    def prompt(self, n_tokens: int, *, batch: int = 1, itemsize: int = 2) -> dict[str, Work]:
        """Work of a prompt, in 16 bits or others; a token attends to those up to itself.

        >>> work = LLAMA_8B.prompt(4096)
        >>> round(work["scores + mix"].flops / sum(each.flops for each in work.values()), 3)
        0.071
        """
        work = self._work(n_tokens, n_tokens, batch, itemsize)
        pairs = work["scores + mix"]
        seen = pairs.flops * (n_tokens + 1) // (2 * n_tokens)
        return work | {"scores + mix": Work(seen, pairs.bytes)}

    def token(self, n_key: int, *, batch: int = 1, itemsize: int = 2) -> dict[str, Work]:
        """Work of one new token of every sequence, the last of ``n_key``, in 16 bits or others.

        >>> round(sum(each.bytes for each in LLAMA_8B.token(1024).values()) / 1e9, 1)
        15.1
        """
        return self._work(1, n_key, batch, itemsize)

    def _work(self, n_query: int, n_key: int, batch: int, itemsize: int = 2) -> dict[str, Work]:
        checks.positive(n_query=n_query, n_key=n_key, batch=batch)
        some, tokens = self.attention, batch * n_query
        sizes: dict[str, Any] = {"n_kv_heads": some.n_kv_heads, "d_head": some.d_head}
        sizes |= {"n_key": n_key, "batch": batch, "itemsize": itemsize}
        stages = roofline.stages(n_query, some.d_model, some.n_heads, **sizes)
        maps = stages["project"] + stages["W_O"]
        wide = 3 * some.d_model * self.d_ff
        moved = wide + 2 * tokens * (some.d_model + self.d_ff)
        words = some.d_model * self.vocabulary
        return {
            "W_Q to W_O": times(maps, some.layers),
            "scores + mix": times(stages["scores + mix"], some.layers),
            "feed-forward": times(Work(2 * tokens * wide, itemsize * moved), some.layers),
            "unembedding": Work(
                2 * batch * words, itemsize * (words + batch * self.vocabulary)
            ),
        }


def times(work: Work, count: int) -> Work:
    """The same work so many times.

    >>> times(Work(flops=8, bytes=2), 3)
    Work(flops=24, bytes=6)
    """
    return Work(count * work.flops, count * work.bytes)


def tokens_per_second(
    work: dict[str, Work], tokens: int, peak: float, bandwidth: float
) -> float:
    """The most tokens a second, if every part runs at the limit that it meets first.

    >>> h100 = 989e12, 3.35e12
    >>> round(tokens_per_second(LLAMA_8B.token(1024), 1, *h100))
    221
    """
    return tokens / sum(roofline.seconds(part, peak, bandwidth) for part in work.values())


LLAMA_8B = Model(configurations.find("Llama 3.1 8B"), d_ff=14_336, vocabulary=128_256)
"""Llama 3.1 8B; Llama 3 8B has the same sizes."""

SMOLLM2 = Model(
    configurations.Configuration("SmolLM2-135M", 30, 576, 9, 3, 64),
    d_ff=1536,
    vocabulary=49_152,
    tied=True,
)
"""SmolLM2-135M, the language model of Parts I to III."""
