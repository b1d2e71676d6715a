"""An encoder and a decoder: one sentence is read as a whole, another is written word by word.

Choices, where the paper leaves or left one:

- Positions are learned, a table of them for each language: sentences are short, every position
  is seen in training, and the paper's table 3 (E) finds sines no better.
- Nothing is tied: the languages share no word, and a table of fifty rows that is written twice
  costs little, but can be looked at apart. (The paper's section 3.4 ties all three.)
- The norm stands in front of every part, and once more behind the last layer of each stack.
- There is no dropout around the parts: the sentences it is made for never run out. An attention
  that is passed in may have its own.

Source: Vaswani et al., "Attention Is All You Need", section 3, arXiv 1706.03762.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from torch import Tensor, nn

from mhsa_book.transformer.checks import check_ids, check_room, has_values
from mhsa_book.transformer.ids import BOS, not_padding
from mhsa_book.transformer.layers import DecoderLayer, EncoderLayer, FeedForward
from mhsa_lib import checks, masks
from mhsa_lib.attention import MultiHeadAttention


class Memory(NamedTuple):
    """What the encoder hands to the decoder: ``rows`` (…, key, d_model), and a ``mask``.

    The mask keeps every query from looking at the source's padding.
    """

    rows: Tensor
    mask: masks.Predicate | None


class Embed(nn.Module):
    """A vector for the token plus one for its position.

    Parameters
    ----------
    name : what the ids are called in messages
    n_tokens, n_positions : rows of the two tables
    d_model : width of a row

    Examples
    --------
    >>> import torch
    >>> Embed("source", 8, 16, 12)(torch.tensor([[5, 3, 4]])).shape
    torch.Size([1, 3, 12])
    """

    def __init__(self, name: str, n_tokens: int, n_positions: int, d_model: int) -> None:
        super().__init__()
        checks.positive(n_tokens=n_tokens, n_positions=n_positions, d_model=d_model)
        self.name = name
        self.tokens = nn.Embedding(n_tokens, d_model)
        self.positions = nn.Embedding(n_positions, d_model)

    def forward(self, ids: Tensor, first: int = 0) -> Tensor:
        """Ids (…, seq) to rows (…, seq, d_model); the first of them stands at ``first``."""
        check_ids(self.name, ids, self.tokens.num_embeddings)
        last = first + ids.shape[-1]
        check_room(self.name, last, self.positions.num_embeddings)
        return self.tokens(ids) + self.positions.weight[first:last]


class EncoderDecoder(nn.Module):
    """Reads a sentence of one language, and says for every word of another what comes next.

    Parameters
    ----------
    n_source, n_target : ids of the two languages, ``PAD``, ``BOS`` and ``EOS`` counted
    n_positions : the most tokens of a sentence, ``BOS`` counted
    d_model : width of a token
    n_heads : heads of every attention
    d_hidden : width inside the feed-forward parts
    n_layers : layers of the encoder, and of the decoder
    attention : called as ``attention(d_model, n_heads)`` for each attention of the model

    Raises
    ------
    ValueError : for sizes below one; in the call, for ids that are not in the tables, padding
        before the end, a sentence that is longer than n_positions, a target that does not begin
        with ``BOS``, or a source and a target of different batches
    TypeError : in the call, for ids that are no tensor of whole numbers

    Examples
    --------
    Every attention is watched and changed by its path, or by its dotted name:

    >>> import torch
    >>> from mhsa_lib.tracing import edit, trace
    >>> model = EncoderDecoder(n_source=9, n_target=8, n_positions=6, d_model=12, n_heads=3)
    >>> source = torch.tensor([[5, 3, 4, 8], [7, 3, 0, 0]])
    >>> given = torch.tensor([[1, 5], [1, 7]])
    >>> with trace(model.decoder[1].cross_attention) as wires:
    ...     logits = model(source, given)
    >>> logits.shape, wires["weights"].shape
    (torch.Size([2, 2, 8]), torch.Size([2, 3, 2, 4]))
    >>> wires["weights"][1, :, :, 2:].sum().item()  # nobody looks at the padding
    0.0
    >>> blind = model.get_submodule("encoder.0.self_attention")
    >>> with edit(blind, "z", torch.zeros_like):
    ...     torch.equal(model(source, given), logits)
    False
    """

    def __init__(
        self,
        n_source: int,
        n_target: int,
        n_positions: int,
        *,
        d_model: int = 64,
        n_heads: int = 4,
        d_hidden: int = 128,
        n_layers: int = 2,
        attention: Callable[[int, int], Any] = MultiHeadAttention,
    ) -> None:
        super().__init__()
        checks.positive(n_layers=n_layers)
        self.n_positions = n_positions
        self.embed_source = Embed("source", n_source, n_positions, d_model)
        self.embed_target = Embed("target", n_target, n_positions, d_model)
        self.encoder = nn.ModuleList(
            EncoderLayer(attention(d_model, n_heads), FeedForward(d_model, d_hidden))
            for _ in range(n_layers)
        )
        self.encoder_norm = nn.LayerNorm(d_model)
        self.decoder = nn.ModuleList(
            DecoderLayer(
                attention(d_model, n_heads),
                attention(d_model, n_heads),
                FeedForward(d_model, d_hidden),
            )
            for _ in range(n_layers)
        )
        self.decoder_norm = nn.LayerNorm(d_model)
        self.unembed = nn.Linear(d_model, n_target, bias=False)

    def encode(self, source: Tensor) -> Memory:
        """Read sentences (…, key), padded on the right, to the memory of them."""
        stream = self.embed_source(source)
        mask = not_padding(source)
        for layer in self.encoder:
            stream = layer(stream, mask)
        return Memory(self.encoder_norm(stream), mask)

    def decode(self, target: Tensor, memory: Memory, first: int = 0) -> Tensor:
        """Logits for the word after each of ``target`` (…, query), as (…, query, word).

        ``first`` is the position of the first token; above 0, earlier tokens have to be
        remembered (``transformer.decoding``). Padding of the target needs no mask of its own:
        it comes last, and ``causal`` keeps every word from looking ahead.
        """
        stream = self.embed_target(target, first)
        _begins(target, first)
        for layer in self.decoder:
            stream = layer(stream, memory.rows, masks.causal, memory.mask)
        return self.unembed(self.decoder_norm(stream))

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Logits (…, query, word) for ``target`` (…, query), the given half of ``shifted``."""
        return self.decode(target, self.encode(source))


def _begins(target: Tensor, first: int) -> None:
    if first == 0 and has_values(target) and (target[..., 0] != BOS).any():
        raise ValueError(
            f"the target begins with {target[..., 0].tolist()}; what a decoder is given begins "
            f"with BOS={BOS}: transformer.shifted puts it there."
        )
