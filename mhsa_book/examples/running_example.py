"""The running example: an attention of three heads whose jobs have names, set by hand.

- *who is meant*: a quality asks for something living, or for a place; nouns find themselves,
  and words with nothing to ask rest on the first word.
- *previous word*: the hands of the clock, turned back by one step.
- *what happened*: every word looks at the verb, and the verb at the living being that did it.

Nothing here is trained. What a head finds it writes into the columns in which words say it of
themselves, so ``y`` reads like ``x``: "tired" gets the 1 in *living* that "animal" has.
"""

import math

import torch
from torch import Tensor

from mhsa_book.examples.words import COLUMNS, FAST, SLOW, sentences
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.stages import maps_of
from mhsa_lib.tracing.wires import Wires, trace

HEADS = ("who is meant", "previous word", "what happened")
ASK = 4.0  # two entries of 4 that meet make a score of 4 · 4 / √4 = 8, and e⁸ is 2981
TURN = 3.0  # clocks that agree make 3 · 3 · 2 / √4 = 9; at every other distance, at most 0
CARRIED = {
    0: ("noun", "living", "place"),
    1: ("noun", "verb", "article", "degree"),
    2: ("noun", "living", "verb"),
}
"""The columns that a head hands over, in the order of its columns of ``v`` and of ``z``."""


def attention() -> MultiHeadAttention:
    """The attention of the running example: d_model 12, three heads of 4, no bias.

    >>> y = attention()(sentences())
    >>> y[:, 6, 1:3].round().tolist()  # "tired" finds a living being, "wide" a place
    [[1.0, 0.0], [0.0, 1.0]]
    """
    mha = MultiHeadAttention(d_model=12, n_heads=3)
    with torch.no_grad():
        for name, W in zip(maps_of(mha), _matrices(), strict=True):
            maps_of(mha)[name].weight.copy_(W.T)
    return mha.eval()


def head_matrices(name: str) -> tuple[Tensor, Tensor, Tensor]:
    """W_Q, W_K and W_V of one head, each (12, 4), as formulas have them: ``q = x @ W_Q``.

    PyTorch keeps a matrix transposed, as ``weight``, and all heads of a layer in one. Raises
    ``ValueError`` for a name that is not in ``HEADS``.

    >>> W_Q, W_K, W_V = head_matrices("who is meant")
    >>> W_Q.shape
    torch.Size([12, 4])
    """
    if name not in HEADS:
        raise ValueError(f"No head is called {name!r}; choose one of {HEADS}.")
    first = 4 * HEADS.index(name)
    W_Q, W_K, W_V, _ = (
        maps.weight.detach().T[:, first : first + 4] for maps in maps_of(attention()).values()
    )
    return W_Q, W_K, W_V


def concat_names() -> list[str]:
    """Names of the twelve columns of ``concat``: the head, and what the column stands for.

    >>> concat_names()[:5]
    ['0: noun', '0: living', '0: place', '0: –', '1: noun']
    """
    unused = ("–",)
    return [
        f"{head}: {name}"
        for head, carried in CARRIED.items()
        for name in (carried + unused)[:4]
    ]


def running() -> Wires:
    """All wires of the running example, the two sentences as a batch.

    >>> running()["weights"].shape
    torch.Size([2, 3, 7, 7])
    """
    mha = attention()
    with torch.no_grad(), trace(mha) as wires:
        mha(sentences())
    return wires


def _matrices() -> list[Tensor]:
    """W_Q, W_K, W_V and W_O as formulas have them, x @ W: a row for each column of x."""
    W_Q, W_K, W_V, W_O = torch.zeros(4, 12, 12, dtype=torch.float64)

    # Who is meant: columns 0 to 3 of q and k. A quality is no answer to a quality.
    W_Q[_rows("living"), 0] = W_K[_rows("living"), 0] = ASK
    W_Q[_rows("place"), 1] = W_K[_rows("place"), 1] = ASK
    W_K[_rows("quality"), 0:2] = -ASK
    W_Q[_rows("article", "verb", "degree"), 2] = W_K[_rows("start"), 2] = ASK

    # Previous word: columns 4 to 7. Before the first word stands none: it looks at itself.
    W_Q[8:, 4:8], W_K[8:, 4:8] = TURN * _one_step_back(), TURN * torch.eye(4)
    noon = torch.tensor([1.0, 0, 1, 0], dtype=torch.float64)
    W_Q[_rows("start"), 4:8] = TURN * (noon - noon @ _one_step_back())

    # What happened: columns 8 to 11.
    W_Q[_rows("noun", "quality", "article", "degree"), 8] = W_K[_rows("verb"), 8] = ASK
    W_Q[_rows("verb"), 9] = W_K[_rows("living"), 9] = ASK
    W_K[_rows("quality"), 9] = -ASK

    for head, carried in CARRIED.items():
        for i, name in enumerate(carried, start=4 * head):
            W_V[_rows(name), i] = W_O[i, _rows(name)] = 1
    return [W_Q, W_K, W_V, W_O]


def _rows(*names: str) -> list[int]:
    return [COLUMNS.index(name) for name in names]


def _one_step_back() -> Tensor:
    """The (4, 4) matrix that turns both hands back to where they stood a word earlier."""
    back = torch.zeros(4, 4, dtype=torch.float64)
    for i, step in ((0, SLOW), (2, FAST)):
        cos, sin = math.cos(step), math.sin(step)
        back[i : i + 2, i : i + 2] = torch.tensor([[cos, -sin], [sin, cos]])
    return back
