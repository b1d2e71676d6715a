"""Fixed circuits against composed ones: three places, three attributes, nine questions.

Items and questions alternate. An item has three attributes of three values each. A question
asks for one attribute of the item one, two or three items back. Where to look is a matter of
scores, what to read there a matter of the value map, and nothing but attention can choose: the
models have one layer and, except for the control, no feed-forward part.

The argument behind the choice was that a score, a part from tokens plus a part from positions,
holds one distance, so that a plain head is made for one question. The argument is wrong, as the
chapter shows: a token can shift the distance. The task stayed.

The control spends the numbers that composing costs on a feed-forward part. A step of the
composed model takes more than twice as long as one of the others, so it also runs with half the
steps.
"""

from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor, nn

from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.experiments.training import Batch, Layers, accuracy, fit
from mhsa_lib.variants.composed import ComposedAttention
from mhsa_lib.variants.parts.composition import Compose, Static

NAME = "composed"
QUESTION = "Can three heads answer nine questions, every place with every attribute?"
MEASURE = "share of right answers; guessing gives 0.33"

PLACES, ATTRIBUTES, VALUES = 3, 3, 3
N_ITEMS, N_QUESTIONS = VALUES**ATTRIBUTES, PLACES * ATTRIBUTES
PAIRS, D_MODEL, BATCH, STEPS = 6, 24, 32, 1200
HALF = ", half the steps"


def models() -> Mapping[str, Callable[[], nn.Module]]:
    """Name and builder: few wide heads, many thin ones, static and dynamic, and a control."""
    composed = "composed, 3 heads of 8"
    return {
        "plain, 3 heads of 15": partial(_plain, 3, 15),
        "talking heads, 3 of 15": _talking,
        "plain, 9 heads of 5": partial(_plain, 9, 5),
        "plain, 3 of 8 + feed-forward": partial(_plain, 3, 8, d_hidden=40),
        composed: _composed,
        composed + HALF: _composed,
    }


def run(model: str, seed: int) -> float:
    """Train that model with that seed; its share of right answers on other sequences."""
    torch.manual_seed(seed)
    layers = models()[model]()
    n_steps = STEPS // (1 + model.endswith(HALF))
    fit(layers, draw, n_steps, seed=seed, learning_rate=1e-2)
    return accuracy(layers, draw, n_batches=16)


def draw(generator: torch.Generator) -> Batch:
    """An item, a question, an item, a question …; asked wherever that item exists.

    >>> ids, answers = draw(torch.Generator().manual_seed(0))
    >>> ids.shape, answers[0, :2].tolist()
    (torch.Size([32, 12]), [-100, 38])
    """
    items = torch.randint(N_ITEMS, (BATCH, PAIRS), generator=generator)
    question = torch.randint(N_QUESTIONS, (BATCH, PAIRS), generator=generator)
    place, attribute = question // ATTRIBUTES, question % ATTRIBUTES
    wanted = torch.arange(PAIRS) - place
    item = items.gather(-1, wanted.clamp(min=0))
    value = item // VALUES**attribute % VALUES
    answer = torch.where(wanted < 0, -100, N_ITEMS + N_QUESTIONS + value)
    return _in_turn(items, N_ITEMS + question), _in_turn(torch.full_like(answer, -100), answer)


def _in_turn(a: Tensor, b: Tensor) -> Tensor:
    return torch.stack([a, b], dim=-1).flatten(start_dim=-2)


def _plain(n_heads: int, d_head: int, d_hidden: int = 0) -> Layers:
    return _layer(MultiHeadAttention(D_MODEL, n_heads, d_head=d_head), d_hidden)


def _talking() -> Layers:
    pre, post = Compose(Static(3)), Compose(Static(3))
    return _layer(ComposedAttention(D_MODEL, 3, d_head=15, pre=pre, post=post))


def _composed() -> Layers:
    return _layer(ComposedAttention(D_MODEL, 3))


def _layer(attention: nn.Module, d_hidden: int = 0) -> Layers:
    n_tokens = N_ITEMS + N_QUESTIONS + VALUES
    return Layers([attention], n_tokens, 2 * PAIRS, d_hidden=d_hidden)
