"""The layers of a Transformer: what stands around attention, and where attention stands.

One class of attention is used in three ways. In the encoder a sentence looks at itself; in the
decoder, at itself up to here; and from the decoder at the ``memory``, what the encoder made of
the other sentence. Every part reads a normalised copy of the stream and adds what it found.

Source: Vaswani et al., "Attention Is All You Need", section 3.1 and 3.3, arXiv 1706.03762; the
norm in front of each part: Xiong et al., "On Layer Normalization in the Transformer
Architecture", arXiv 2002.04745.
"""

from typing import Any

from torch import Tensor, nn

from mhsa_lib import checks, masks
from mhsa_lib.shapes import Tokens


class FeedForward(nn.Module):
    """Every token on its own: ``activation(x W_1 + b_1) W_2 + b_2``.

    Parameters
    ----------
    d_model : width of a token, in columns
    d_hidden : columns between the two maps
    activation : what is done to each of these numbers; ``nn.ReLU()`` when not given

    Raises
    ------
    ValueError : for sizes below one; in the call, for tokens that are not d_model wide

    Examples
    --------
    >>> import torch
    >>> FeedForward(d_model=12, d_hidden=24)(torch.zeros(2, 5, 12)).shape
    torch.Size([2, 5, 12])
    """

    def __init__(
        self, d_model: int, d_hidden: int, *, activation: nn.Module | None = None
    ) -> None:
        super().__init__()
        checks.positive(d_model=d_model, d_hidden=d_hidden)
        self.d_model = d_model
        self.W_1 = nn.Linear(d_model, d_hidden)
        self.activation = nn.ReLU() if activation is None else activation
        self.W_2 = nn.Linear(d_hidden, d_model)

    def forward(self, x: Tensor) -> Tokens:
        checks.tokens("x", x, self.d_model, W=self.W_1)
        return self.W_2(self.activation(self.W_1(x)))


class EncoderLayer(nn.Module):
    """A sentence looks at itself; then every token is worked on alone.

    Parameters
    ----------
    self_attention : any attention of this library
    feed_forward : a module with the same ``d_model``, such as ``FeedForward``

    Raises
    ------
    ValueError : for parts of different widths; in the call, as the attention

    Examples
    --------
    >>> import torch
    >>> from mhsa_lib import FusedMultiHeadAttention
    >>> layer = EncoderLayer(FusedMultiHeadAttention(12, 3), FeedForward(12, 24))
    >>> layer(torch.zeros(2, 5, 12), masks.key_padding([5, 3])).shape
    torch.Size([2, 5, 12])
    """

    def __init__(self, self_attention: Any, feed_forward: Any) -> None:
        super().__init__()
        d_model = _width(self_attention=self_attention, feed_forward=feed_forward)
        self.self_attention_norm = nn.LayerNorm(d_model)
        self.self_attention = self_attention
        self.feed_forward_norm = nn.LayerNorm(d_model)
        self.feed_forward = feed_forward

    def forward(self, x: Tensor, mask: Any = None) -> Tokens:
        """Stream ``x`` (…, query, d_model) to the same; ``mask`` as for an attention."""
        x = x + self.self_attention(self.self_attention_norm(x), mask=mask)
        return x + self.feed_forward(self.feed_forward_norm(x))


class DecoderLayer(nn.Module):
    """A sentence looks at itself up to here, then at the memory; then every token works alone.

    Parameters
    ----------
    self_attention : any attention of this library
    cross_attention : another; its keys and values are made of the memory, its d_context wide
    feed_forward : a module with the same ``d_model``

    Raises
    ------
    ValueError : for parts of different widths; in the call, as the attentions

    Examples
    --------
    >>> import torch
    >>> from mhsa_lib import MultiHeadAttention
    >>> attentions = MultiHeadAttention(12, 3), MultiHeadAttention(12, 3, d_context=8)
    >>> layer = DecoderLayer(*attentions, FeedForward(12, 24))
    >>> layer(torch.zeros(2, 4, 12), memory=torch.zeros(2, 7, 8)).shape
    torch.Size([2, 4, 12])
    """

    def __init__(self, self_attention: Any, cross_attention: Any, feed_forward: Any) -> None:
        super().__init__()
        d_model = _width(
            self_attention=self_attention,
            cross_attention=cross_attention,
            feed_forward=feed_forward,
        )
        self.self_attention_norm = nn.LayerNorm(d_model)
        self.self_attention = self_attention
        self.cross_attention_norm = nn.LayerNorm(d_model)
        self.cross_attention = cross_attention
        self.feed_forward_norm = nn.LayerNorm(d_model)
        self.feed_forward = feed_forward

    def forward(
        self, x: Tensor, memory: Tensor, mask: Any = masks.causal, memory_mask: Any = None
    ) -> Tokens:
        """Stream ``x`` (…, query, d_model) to the same, with a ``memory`` (…, key, d_context).

        ``mask`` says which tokens of the own sentence may be looked at, ``memory_mask`` which
        of the memory.
        """
        x = x + self.self_attention(self.self_attention_norm(x), mask=mask)
        x = x + self.cross_attention(self.cross_attention_norm(x), memory, mask=memory_mask)
        return x + self.feed_forward(self.feed_forward_norm(x))


def _width(**parts: Any) -> int:
    """The d_model that all parts share."""
    widths: dict[str, Any] = {
        name: getattr(part, "d_model", None) for name, part in parts.items()
    }
    if len(set(widths.values())) != 1 or None in widths.values():
        given = ", ".join(f"{name}.d_model={width}" for name, width in widths.items())
        raise ValueError(
            f"{given}; all parts of a layer read and write one stream: give them one d_model."
        )
    return next(iter(widths.values()))
