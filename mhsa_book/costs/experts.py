"""A mixture of experts as feed-forward part: what a step computes, and which weights it reads.

A router sends every token to a few of many experts, each a gated feed-forward part of three
maps. So a token computes little, but different tokens read different weights: a batch shares
the weights of an expert only among the tokens that were sent there. Experts are taken to be
chosen evenly and by chance, which real routers only aim at.

Source: DeepSeek-AI, "DeepSeek-V3 Technical Report", section 2.1.2, arXiv 2412.19437.
"""

from dataclasses import dataclass

from mhsa_book.costs.roofline import Work
from mhsa_lib import checks


@dataclass(frozen=True)
class Experts:
    """One feed-forward layer of ``n_experts``, of which a token uses ``n_active``.

    ``n_shared`` further ones are used by every token. An expert has three maps between
    ``d_model`` and ``d_expert``.
    """

    d_model: int
    d_expert: int
    n_experts: int
    n_active: int
    n_shared: int = 0

    @property
    def numbers(self) -> int:
        """Learned numbers of one expert.

        >>> DEEPSEEK_V3.numbers
        44040192
        """
        return 3 * self.d_model * self.d_expert

    def parameters(self) -> int:
        """Learned numbers of the layer, which have to fit into memory.

        >>> round(58 * DEEPSEEK_V3.parameters() / 1e9)
        656
        """
        return (self.n_experts + self.n_shared) * self.numbers

    def touched(self, tokens: int) -> float:
        """Experts that at least one of so many tokens is sent to, on average.

        >>> [round(DEEPSEEK_V3.touched(tokens)) for tokens in (1, 16, 64, 256)]
        [8, 102, 222, 256]
        """
        checks.positive(tokens=tokens)
        missed = (1 - self.n_active / self.n_experts) ** tokens
        return self.n_experts * (1 - missed)

    def step(self, tokens: int, *, itemsize: int | float = 2) -> Work:
        """Work of one step: FLOPs of all its tokens, and the bytes of the experts they touch.

        Activations, which are small beside the weights, are left out.

        >>> DEEPSEEK_V3.step(1).flops == 2 * 9 * DEEPSEEK_V3.numbers
        True
        """
        read = (self.touched(tokens) + self.n_shared) * self.numbers * itemsize
        used = tokens * (self.n_active + self.n_shared)
        return Work(2 * used * self.numbers, round(read))


DEEPSEEK_V3 = Experts(7168, 2048, n_experts=256, n_active=8, n_shared=1)
"""58 of its 61 layers; the first three have one dense feed-forward part."""
