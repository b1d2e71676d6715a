"""An attention of the reader's own in a language model, and whose mistake it makes.

Such a class is made by ``build(W_Q, W_K, W_V, W_O, n_heads, rotate)`` with the matrices and the
rotation of one layer, and called as ``LanguageModel.replace`` calls it: ``module(x, mask)``.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from mhsa_book.exercises import bugs, reference, wrong_ways
from mhsa_book.exercises.compare import shown
from mhsa_book.exercises.drawn_inputs import drawn, matrices
from mhsa_book.exercises.kinds import Exercise
from mhsa_book.exercises.known_mistakes import FunctionWithKnownMistakes
from mhsa_book.exercises.verdict import Verdict, wrong
from mhsa_book.models import LanguageModel
from mhsa_book.museum import right
from mhsa_book.museum.parts import Parts
from mhsa_lib import functional, masks

Build = Callable[..., Callable[[Tensor, Tensor], Tensor]]
Rotate = Callable[..., tuple[Tensor, Tensor]]
Rotating = Callable[[Rotate, Tensor, Tensor], tuple[Tensor, Tensor]]


@contextmanager
def in_every_layer(lm: LanguageModel, build: Build) -> Iterator[LanguageModel]:
    """Put an attention into all layers of a model, each with the weights of its layer.

    The model's own are back at the end of the block.

    Examples
    --------
    >>> from mhsa_book import models
    >>> lm = models.load("SmolLM2-135M")
    >>> with in_every_layer(lm, mistake("no_scale")):
    ...     lm.next("The capital of France is", k=1)[0][0] == " Paris"
    False
    """
    with ExitStack() as stack:
        for layer in range(lm.n_layers):
            own = build(**lm.weights(layer), n_heads=lm.n_heads, rotate=lm.rotate)
            stack.enter_context(lm.replace(layer, own))
        yield lm


def mistake(name: str) -> Build:
    """Return a known mistake, or ``"right"``, to be put into a model like a reader's class.

    Raises ``ValueError``, with all names, for one that there is not.

    >>> x, mask = torch.ones(1, 2, 4), torch.ones(2, 2, dtype=torch.bool).tril()
    >>> attention = mistake("no_scale")(*[torch.eye(4)] * 4, n_heads=2, rotate=rotate)
    >>> attention(x, mask).shape
    torch.Size([1, 2, 4])
    """
    known = {"right": attention, **{way.__name__: way for way in ROTATIONS}, **exhibits()}
    known |= {way.__name__: way for way in OTHERS}
    if name not in known:
        raise ValueError(f"{name!r} is no mistake that fits; there are {', '.join(known)}.")

    def build(
        W_Q: Tensor, W_K: Tensor, W_V: Tensor, W_O: Tensor, n_heads: int, rotate: Rotate
    ) -> Callable[[Tensor, Tensor], Tensor]:
        return lambda x, mask: known[name](x, W_Q, W_K, W_V, W_O, n_heads, rotate, mask)

    return build


# --- what is right, as a function of everything ----------------------------------------------


def _whole(
    attend: wrong_ways.Way = reference.attend,
    split: wrong_ways.Way = functional.split_heads,
    concat: wrong_ways.Way = functional.concat_heads,
    rotating: Rotating | None = None,
) -> wrong_ways.Way:
    """Return an attention with rotation, of these parts."""

    def attention(
        x: Tensor,
        W_Q: Tensor,
        W_K: Tensor,
        W_V: Tensor,
        W_O: Tensor,
        n_heads: int,
        rotate: Rotate,
        mask: Tensor,
    ) -> Tensor:
        q, k, v = (split(x @ W, n_heads) for W in (W_Q, W_K, W_V))
        q, k = rotate(q, k) if rotating is None else rotating(rotate, q, k)
        return concat(attend(q, k, v, mask)) @ W_O

    return attention


attention = _whole()
"""The right one."""


def rotate(q: Tensor, k: Tensor, positions: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Rotate small heads (…, seq, d_head) by their positions, as a language model would.

    ``positions`` are counted from 0 when not given.
    """
    at = torch.arange(q.shape[-2]) if positions is None else positions
    return (
        right.turn(q, right.angles(at, q.shape[-1], 1)),
        right.turn(k, right.angles(at, k.shape[-1], 1)),
    )


def inputs() -> Iterator[dict[str, Any]]:
    """Tokens under a causal mask, the smallest first; the numbers of the last are large.

    Heads are as many as they are wide in the first only: equal sizes hide mistakes.
    """
    for batch, seq, d_model, n_heads in (
        (1, 1, 4, 2),
        (1, 2, 8, 2),
        (2, 2, 8, 2),
        (2, 3, 12, 2),
        (1, 5, 24, 4),
    ):
        x, mask = drawn(batch, seq, d_model), masks.causal.dense(seq, seq)
        rest = {"n_heads": n_heads, "rotate": rotate, "mask": mask}
        yield {"x": x, **matrices(d_model, d_model), **rest}
    yield {"x": 1000 * x, **matrices(d_model, d_model), **rest}


# --- what is known to be wrong ---------------------------------------------------------------


def _rotation_forgotten(rotate: Rotate, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    return q, k


def _keys_not_rotated(rotate: Rotate, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    return rotate(q, k)[0], k


def _queries_not_rotated(rotate: Rotate, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    return q, rotate(q, k)[1]


def _rotated_twice(rotate: Rotate, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    return rotate(*rotate(q, k))


def _named(name: str, way: wrong_ways.Way) -> wrong_ways.Way:
    way.__name__ = name
    return way


def _before_the_split(
    x: Tensor,
    W_Q: Tensor,
    W_K: Tensor,
    W_V: Tensor,
    W_O: Tensor,
    n_heads: int,
    rotate: Rotate,
    mask: Tensor,
) -> Tensor:
    q, k = rotate(x @ W_Q, x @ W_K)
    q, k, v = (functional.split_heads(each, n_heads) for each in (q, k, x @ W_V))
    return functional.concat_heads(reference.attend(q, k, v, mask)) @ W_O


ROTATIONS: wrong_ways.Named = {
    _named("rotation_forgotten", _whole(rotating=_rotation_forgotten)): (
        "The rotation changes no score: it is forgotten, or turns each head by its number."
    ),
    _named("keys_not_rotated", _whole(rotating=_keys_not_rotated)): (
        "Only the queries are rotated; the keys need it, too."
    ),
    _named("queries_not_rotated", _whole(rotating=_queries_not_rotated)): (
        "Only the keys are rotated; the queries need it, too."
    ),
    _named("rotated_twice", _whole(rotating=_rotated_twice)): (
        "Queries and keys are rotated twice, so every distance counts double."
    ),
    _named("rotated_before_the_split", _before_the_split): (
        "Rotated before the split, a head gets only some of the angles; split first."
    ),
}
"""Mistakes with the one function that is given."""


def _mask_forgotten(*given: Any) -> Tensor:
    *rest, mask = given
    return attention(*rest, torch.ones_like(mask))


def _queries_and_keys_exchanged(x: Tensor, W_Q: Tensor, W_K: Tensor, *rest: Any) -> Tensor:
    return attention(x, W_K, W_Q, *rest)


OTHERS = (
    _named("mask_forgotten", _mask_forgotten),
    _named("queries_and_keys_exchanged", _queries_and_keys_exchanged),
)
"""Two that are found by changing the arguments of the right one."""

WAYS: wrong_ways.Named = {
    **ROTATIONS,
    **{
        _whole(attend): said
        for attend, said in (wrong_ways.WEIGHED | wrong_ways.MASKED).items()
    },
    **{_whole(concat=join): f"In concat: {said}" for join, said in wrong_ways.JOINED.items()},
}


def exhibits() -> bugs.Adapted:
    """Every exhibit of the museum that fits this interface, called like ``attention``.

    Left out are those that nothing here can show: what stands around an attention, biases,
    caches, padding, dropout, fewer KV heads (they come repeated), and the rotation itself,
    which is given.
    """

    def adapt(p: Parts) -> Callable[..., Any]:
        def attention(
            x: Tensor,
            W_Q: Tensor,
            W_K: Tensor,
            W_V: Tensor,
            W_O: Tensor,
            n_heads: int,
            rotate: Rotate,
            mask: Tensor,
        ) -> Tensor:
            W = bugs.matrices_of(W_Q, W_K, W_V, W_O)
            q, k, v = (p.split_heads(each, n_heads) for each in p.project(x, x, W, n_heads))
            q, k, v = p.rotate(q, k, v, lambda heads: rotate(heads, heads)[0])
            if p.causal_mask is not right.causal_mask:
                mask = p.causal_mask(*mask.shape)
            return p.output(p.concat_heads(bugs.mixed(p, q, k, v, mask)), W, n_heads)

        return attention

    parts = ("project", "split_heads", "rotate", "causal_mask", "concat_heads", "output")
    found = {each.name: adapt(each.all_parts) for each in bugs.of(*bugs.ATTEND, *parts)}
    return {name: wrong for name, wrong in found.items() if name not in SAME_HERE}


SAME_HERE = {
    "an_empty_row_is_nan": "under a causal mask every query attends to itself at least",
    "two_masks_added": "twice the lowest number is hidden as well, and no row is empty",
    "causal_from_the_top_left": "without a cache there are as many keys as queries",
    "queries_from_the_memory": "in self-attention x is the memory",
    "biases_forgotten": "the model has no biases",
    "output_bias_on_every_device": "the model has no biases",
    "minus_a_billion_in_half": "nothing is in half precision",
    "weights_detached": "only a gradient would show it",
}
"""Exhibits that are right here, and why."""


# --- the verdict -----------------------------------------------------------------------------


@dataclass(frozen=True)
class InTheModel:
    """A class to write for all layers of a language model, judged on small inputs."""

    whole: FunctionWithKnownMistakes

    def judge(self, name: str, answer: Any) -> Verdict:
        """Judge the class as a function of its weights and inputs."""
        if not isinstance(answer, type):
            return wrong(f"{shown(answer)} is no class; hand over the class, {name}.")
        return self.whole.judge(name, called(answer))


def called(build: Build) -> Callable[..., Any]:
    """Return a class as a function of everything: its weights, the rotation, its inputs."""

    def function(
        x: Tensor,
        W_Q: Tensor,
        W_K: Tensor,
        W_V: Tensor,
        W_O: Tensor,
        n_heads: int,
        rotate: Rotate,
        mask: Tensor,
    ) -> Any:
        maps = {"W_Q": W_Q, "W_K": W_K, "W_V": W_V, "W_O": W_O}
        with torch.no_grad():
            return build(**maps, n_heads=n_heads, rotate=rotate)(x, mask)

    return function


def diagnose(build: Build) -> Verdict:
    """Say which known mistake an attention makes: the one that gives the same numbers.

    Every known mistake runs beside it on the same small inputs. "Right" means equal to the
    definition on all of them; where no mistake does the same, the verdict shows the smallest
    input on which it differs.

    >>> diagnose(mistake("right"))
    Right. Equal to the definition on every input: it can stand in for the model's own.
    >>> "no_scale: Scores are not divided by √d_head." in diagnose(mistake("no_scale")).text
    True
    """
    return WHOLE.judge("attention", called(build))


WHOLE = FunctionWithKnownMistakes(
    attention,
    inputs,
    because="Equal to the definition on every input: it can stand in for the model's own.",
    mistakes=WAYS,
    exhibits=exhibits(),
    axes="batch seq d_model",
)

EXERCISES: dict[str, Exercise] = {"attention_in_the_model": InTheModel(WHOLE)}
