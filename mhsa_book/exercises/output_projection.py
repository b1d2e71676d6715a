"""Exercises of chapter 08, W_O."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from mhsa_book import examples
from mhsa_book.exercises.drawn_inputs import counted, drawn
from mhsa_book.exercises.first_model import PROMPT, language_model
from mhsa_book.exercises.kinds import Exercise, OpenAnswer, Value
from mhsa_book.exercises.known_mistakes import FunctionWithKnownMistakes
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.tracing.wires import trace

D_MODEL, N_HEADS = 576, 9
READ_HEAD = (25, 2)
"""The head of the language model, (layer, head), whose writing is to be read."""


def own_dimensions() -> tuple[int, int]:
    """Into how many dimensions head 0 can write where concat is added, and heads 0 and 1."""
    first, second, *_ = torch.arange(D_MODEL).view(N_HEADS, -1).tolist()
    return len(first), len({*first} & {*second})


def wrote_from(weights: Tensor, v: Tensor, W_O: Tensor) -> Tensor:
    """What each head adds to y from each word, (batch, head, query, key, d_model)."""
    handed = v @ W_O.unflatten(0, (v.shape[-3], v.shape[-1]))
    return weights[..., None] * handed.unsqueeze(-3)


@torch.no_grad()
def from_two_names() -> tuple[str, str]:
    """The token that the head raises most, at Mary and at the second John."""
    lm, (layer, head) = language_model(), READ_HEAD
    attention, tokens = lm.attention(layer), lm.tokens(PROMPT)
    with trace(attention) as wires:
        lm.logits(PROMPT)
    values = wires["v_heads"][0, head // (lm.n_heads // lm.n_kv_heads)]
    own = lm.weights(layer)["W_O"].unflatten(0, (lm.n_heads, -1))[head]
    places = tokens.index(" Mary"), len(tokens) - 1 - tokens[::-1].index(" John")
    mary, john = (lm.points_to(values[place] @ own, 1)[0] for place in places)
    return mary, john


def unlike(twin: Any) -> str:
    """What is wrong with an attention that should have another z of head 0 and the same y."""
    if not isinstance(twin, MultiHeadAttention):
        return f"{type(twin).__name__} is no attention; hand over the changed twin."
    x, old = examples.sentences(), examples.running()
    with torch.no_grad(), trace(twin) as new:
        twin(x)

    def moved(name: str, *index: Any) -> float:
        return float((new[name][index] - old[name][index]).abs().max())

    if moved("y") > 1e-4:
        return f"y is another one; its largest change is {moved('y'):.2f}."
    if moved("z", 0, 0, 6) < 1e-3:
        return 'z of head 0 at "tired" is as it was.'
    if moved("z", slice(None), slice(1, None)) > 1e-4:
        return (
            "z of another head is changed as well. Exchanging heads keeps y, but each head is "
            "then as it was, under another number; let heads 1 and 2 be."
        )
    return ""


def _from_words() -> Iterator[dict[str, Any]]:
    for batch, n_heads, n_query, n_key, d_head in (
        (1, 1, 1, 1, 1),
        (1, 1, 1, 2, 1),
        (1, 2, 2, 3, 2),
        (2, 3, 4, 4, 2),
    ):
        yield {
            "weights": drawn(batch, n_heads, n_query, n_key).abs(),
            "v": counted(batch, n_heads, n_key, d_head),
            "W_O": counted(n_heads * d_head, n_heads * d_head + 1),
        }


UNWRITTEN = {
    lambda weights, v, W_O: wrote_from(weights, v, W_O).sum(dim=-2): (
        "That is what each head wrote, summed over the words; keep the axis of the keys."
    ),
    lambda weights, v, W_O: wrote_from(weights, v, W_O).sum(dim=-4): (
        "You have added up the heads; keep their axis."
    ),
    lambda weights, v, W_O: wrote_from(torch.ones_like(weights), v, W_O): (
        "Every word hands over all it has; how much of it is taken says the weight."
    ),
    lambda weights, v, W_O: weights[..., None] * (v @ W_O[: v.shape[-1]]).unsqueeze(-3): (
        "Every head goes through the rows of head 0."
    ),
    lambda weights, v, W_O: (
        weights[..., None] * (v @ W_O.unflatten(0, (v.shape[-3], -1)).flip(0)).unsqueeze(-3)
    ): ("The first rows of W_O belong to head 0."),
}


EXERCISES: dict[str, Exercise] = {
    "without_w_o": Value(
        own_dimensions,
        because="Its own 64, and none in common. Now compare your sentences with ours.",
        wrong={
            (576, 576): "So it is with W_O. Without it head 0 stays in its part of concat.",
            (64, 64): "Head 0 has the dimensions 0 to 63. Which ones has head 1?",
            (64, 128): "Both together have 128; we ask which ones they share.",
        },
    ),
    "wrote_from": FunctionWithKnownMistakes(wrote_from, _from_words, mistakes=UNWRITTEN),
    "w_o_kernel": Value(
        lambda: examples.attention().d_model,
        because="What a head hands over passes through d_head numbers: rank d_head at most.",
        wrong={
            4: "Four numbers let through rank 4; M has rank 12.",
            3: "That is how many heads ours has. How wide must this one be?",
        },
    ),
    "w_o_twin": OpenAnswer(
        unlike, because="y depends on the product of W_V and W_O, not on what stands between."
    ),
    "from_two_names": Value(
        from_two_names,
        because="They fit the names. Now compare your sentences with ours.",
        wrong={
            (" his", " her"): "The other way round: first at Mary, then at John.",
            ("her", "his"): "Write the tokens as they are, with the space in front.",
        },
    ),
}
