"""Three heads, and more pairs of a place with something to read there than heads.

Items and questions alternate. An item has four attributes of three values each. A question asks
for one attribute of the item one, two or three items back: twelve questions. Where to look is a
matter of scores, what to read there a matter of the value map, and nothing but attention can
choose: the models have one layer and, except for the control, no feed-forward part.

A token can shift where a head looks, so three plain heads could serve three attributes. There
are four. A composed head can be handed over with a factor, also a negative one, that the
question decides.

Composing costs parameters and FLOPs. Plain heads spend as many parameters on width, on number,
or on a feed-forward part, which can also choose; one arm has the FLOPs instead.

Before the predictions were written, seed 100 was looked at with one learning rate: three plain
heads stayed at 0.94, three composed heads and fifteen thin ones came to 1. The number of
attributes was chosen before that, to be more than the heads.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import torch
from torch import Tensor, nn

from mhsa_book import costs
from mhsa_book.costs import variant_costs
from mhsa_book.experiments.design import ANEW, Experiment, Question, Setup
from mhsa_book.experiments.training import Batch, Layers, accuracy, parameters_built_by
from mhsa_book.results.paired import Measure
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.variants.composed import Compose, ComposedAttention, Static

PLACES, ATTRIBUTES, VALUES = 3, 4, 3
N_ITEMS, N_QUESTIONS = VALUES**ATTRIBUTES, PLACES * ATTRIBUTES
PAIRS, D_MODEL, BATCH = 6, 24, 32
N = 2 * PAIRS

COMPOSED = "composed, 3 heads of 8"
WIDE, MANY = "plain, 3 heads of 15", "plain, 15 heads of 3"
TALKING, CONTROL = "talking heads, 3 of 15", "plain, 3 of 8 + feed-forward"
SAME_FLOPS = "plain, 3 heads of 16, equal FLOPs"
TWIN = f"{COMPOSED}, again"


def draw(generator: torch.Generator) -> Batch:
    """An item, a question, an item, a question …; asked wherever that item exists.

    >>> ids, answers = draw(torch.Generator().manual_seed(0))
    >>> ids.shape, answers[0, :2].tolist()
    (torch.Size([32, 12]), [-100, -100])
    """
    items = torch.randint(N_ITEMS, (BATCH, PAIRS), generator=generator)
    question = torch.randint(N_QUESTIONS, (BATCH, PAIRS), generator=generator)
    place, attribute = question // ATTRIBUTES, question % ATTRIBUTES
    wanted = torch.arange(PAIRS) - place
    item = items.gather(-1, wanted.clamp(min=0))
    value = item // VALUES**attribute % VALUES
    answer = torch.where(wanted < 0, -100, N_ITEMS + N_QUESTIONS + value)
    return _in_turn(items, N_ITEMS + question), _in_turn(torch.full_like(answer, -100), answer)


def spell(ids: Tensor, answers: Tensor) -> list[str]:
    """The items of a sequence, attributes a to d, with the question behind each.

    >>> spell(torch.tensor([16, 85]), torch.tensor([-100, -100]))
    ['1210   a, 2 back: no such item']
    >>> spell(torch.tensor([16, 82]), torch.tensor([-100, 95]))
    ['1210   b, 1 back: 2']
    """
    lines = []
    pairs = zip(ids[::2].tolist(), ids[1::2].tolist(), answers[1::2].tolist(), strict=True)
    for item, question, answer in pairs:
        attributes = "".join(str(item // VALUES**n % VALUES) for n in range(ATTRIBUTES))
        place, attribute = divmod(question - N_ITEMS, ATTRIBUTES)
        found = "no such item" if answer < 0 else answer - N_ITEMS - N_QUESTIONS
        lines.append(f"{attributes}   {'abcd'[attribute]}, {place + 1} back: {found}")
    return lines


def _in_turn(a: Tensor, b: Tensor) -> Tensor:
    return torch.stack([a, b], dim=-1).flatten(start_dim=-2)


def _arm(
    attention: Callable[[], nn.Module], flops: Mapping[str, int], d_hidden: int = 0
) -> Setup:
    def build() -> Layers:
        n_tokens = N_ITEMS + N_QUESTIONS + VALUES
        return Layers([attention()], n_tokens, N, d_hidden=d_hidden)

    settings = {
        "d_model": D_MODEL,
        "parameters": parameters_built_by(build),
        "FLOPs of a sequence": sum(flops.values()) + 4 * N * D_MODEL * d_hidden,
    }
    return Setup(build, draw, settings)


def _plain(n_heads: int, d_head: int, d_hidden: int = 0) -> Setup:
    def attention() -> MultiHeadAttention:
        return MultiHeadAttention(D_MODEL, n_heads, d_head=d_head)

    return _arm(attention, costs.flops(N, D_MODEL, n_heads, d_head=d_head), d_hidden)


def _talking() -> Setup:
    def attention() -> ComposedAttention:
        pre, post = Compose(Static(3)), Compose(Static(3))
        return ComposedAttention(D_MODEL, 3, d_head=15, pre=pre, post=post)

    exchanges = {"composed": 2 * 2 * 3**2 * N**2}
    return _arm(attention, costs.flops(N, D_MODEL, 3, d_head=15) | exchanges)


def _composed() -> Setup:
    def attention() -> ComposedAttention:
        return ComposedAttention(D_MODEL, 3)

    return _arm(attention, variant_costs.composed(D_MODEL, 3, n=N).flops)


ARMS = {
    COMPOSED: _composed(),
    WIDE: _plain(3, 15),
    MANY: _plain(15, 3),
    TALKING: _talking(),
    CONTROL: _plain(3, 8, d_hidden=40),
    SAME_FLOPS: _plain(3, 16),
}

EXPERIMENT = Experiment(
    name="composed",
    question="Three heads, twelve pairs of place and attribute: does composing reach more?",
    measure=Measure("share of right answers"),
    score=accuracy,
    level=1.0,
    tolerance=0.02,
    arms=ARMS | {TWIN: replace(ARMS[COMPOSED], anew=ANEW)},
    floor=(COMPOSED, TWIN),
    questions=(
        Question(COMPOSED, WIDE),
        Question(COMPOSED, SAME_FLOPS),
        Question(TALKING, WIDE, margin=0.02),
        Question(COMPOSED, MANY, margin=0.02),
        Question(COMPOSED, CONTROL, margin=0.02),
        Question(COMPOSED, MANY, "steps"),
    ),
    predictions=(
        "On the plateau three composed heads answer more than three plain ones, of equal "
        "parameters and of equal FLOPs; these stay below 0.97.",
        "A static exchange does not help: talking heads answer as much as three plain ones, "
        "the same within 0.02.",
        "Fifteen thin plain heads answer as much as the composed ones, the same within 0.02, "
        "but need more steps.",
        "The feed-forward part does not replace composing: that arm answers less.",
    ),
    n_steps=4800,
    every=120,
)
