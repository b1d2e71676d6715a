"""Multi-head attention in five lines.

Source: Vaswani et al., "Attention Is All You Need", section 3.2.2, arXiv 1706.03762.
"""

from typing import Any

from torch import Tensor, nn

from mhsa_lib import checks
from mhsa_lib.shapes import Tokens
from mhsa_lib.stages import Attend, Concat, Project, Split, Stage


class MultiHeadAttention(Stage):
    """Multi-head attention (Vaswani et al., 2017), written as five replaceable stages.

    Parameters
    ----------
    d_model : width of a token
    n_heads : number of heads, each with its own distribution over the keys
    d_head : width of a head; d_model / n_heads when not given, free otherwise
    d_context : width of a token of ``context``; d_model when not given
    bias : whether the four linear maps add a bias
    dropout : probability of dropping an attention weight in training
    project, split, attend, concat, W_O : a stage to use in place of the standard one

    Raises
    ------
    ValueError : for sizes below one, or heads that do not divide d_model without a d_head

    Examples
    --------
    >>> import torch
    >>> from mhsa_lib import masks
    >>> mha = MultiHeadAttention(d_model=12, n_heads=3)
    >>> mha(torch.randn(2, 6, 12), mask=masks.causal).shape
    torch.Size([2, 6, 12])
    """

    wires = {"y": Tokens}

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        d_head: int | None = None,
        d_context: int | None = None,
        bias: bool = False,
        dropout: float = 0.0,
        project: nn.Module | None = None,
        split: nn.Module | None = None,
        attend: nn.Module | None = None,
        concat: nn.Module | None = None,
        W_O: nn.Module | None = None,
    ) -> None:
        super().__init__()
        d_head = checks.head_width(d_model, n_heads, d_head)
        d_heads = n_heads * d_head
        self.d_model, self.n_heads, self.d_head = d_model, n_heads, d_head
        # `is None`, because a container of modules is false while it is empty.
        if project is None:
            project = Project(d_model, d_heads, d_heads, d_context=d_context, bias=bias)
        checks.reads(project, d_context)
        attend = Attend(scale=d_head**-0.5, dropout=dropout) if attend is None else attend
        # Typed as Any, because a stage may be any module: the variants pass their own.
        self.project: Any = project
        self.split: Any = Split(n_heads) if split is None else split
        self.attend: Any = attend
        self.concat: Any = Concat() if concat is None else concat
        self.W_O: Any = nn.Linear(d_heads, d_model, bias=bias) if W_O is None else W_O

    @property
    def d_context(self) -> int:
        """Width of a token of ``context``: that which ``project`` reads."""
        # A project that is passed in need not know contexts at all.
        return getattr(self.project, "d_context", self.d_model)

    def forward(self, x: Tensor, context: Tensor | None = None, mask: Any = None) -> Tokens:
        """Attend from ``x`` (…, query, d_model) to ``context`` (…, key, d_context).

        Without a context, to ``x`` itself. ``mask`` is a predicate of ``mhsa_lib.masks`` or a
        boolean tensor that broadcasts to (batch, head, query, key), True = may attend. Returns
        ``y`` (…, query, d_model).
        """
        context = x if context is None else context
        q, k, v = self.project(x, context)
        q, k, v = self.split(q, k, v)
        z = self.attend(q, k, v, mask)
        z = self.concat(z)
        return self.W_O(z)
