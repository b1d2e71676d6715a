"""A layer of BERT around our five stages: what stands in it can be watched and changed.

The norm stands behind each part here ("post-norm"), as in the first Transformer.

Source: Devlin et al., "BERT", arXiv 1810.04805; Vaswani et al., "Attention Is All You Need",
section 3.1, arXiv 1706.03762.
"""

from typing import Any

from torch import Tensor, nn

from mhsa_lib.convert.bert import from_bert
from mhsa_lib.shapes import Tokens


class Layer(nn.Module):
    """One layer of a Hugging Face BERT, its attention copied into our five stages.

    ``layer(x)`` is the next vectors, without a mask: x (…, token, d_model) has no padding. The
    norms and the maps behind the attention are those of the model itself, not copies.
    ``trace(layer)`` and ``edit(layer, wire, change)`` find the attention.

    Parameters
    ----------
    source : a ``BertLayer``
    verify : whether its attention and ours are run once and compared

    Raises
    ------
    TypeError, ValueError : for an attention that ``from_bert`` does not convert
    """

    def __init__(self, source: Any, *, verify: bool = True) -> None:
        super().__init__()
        self.attention = from_bert(source.attention, verify=verify)
        self.attention_norm = source.attention.output.LayerNorm
        self.widen, self.narrow = source.intermediate, source.output
        self.train(source.training)

    def forward(self, x: Tensor) -> Tokens:
        x = self.attention_norm(x + self.attention(x))
        return self.narrow(self.widen(x), x)
