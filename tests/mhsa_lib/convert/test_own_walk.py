"""Our own attentions through our own conversions: the same function, or a clear refusal.

Every variant, and every stage there is in the place of every stage.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import pytest
import torch
from torch import nn

from mhsa_book.experiments.induction import SmearedSplit
from mhsa_lib import FusedMultiHeadAttention, MultiHeadAttention
from mhsa_lib.rope.rotary import Rotary, RotarySplit
from mhsa_lib.stages import Stage, stages_of
from mhsa_lib.variants import GroupedQueryAttention, LatentAttention, OverlappedAttention
from tests.helpers.drawn import filled, rand
from tests.mhsa_lib.convert import foreign, mutilated
from tests.mhsa_lib.convert.own_conversions import CONVERSIONS
from tests.mhsa_lib.variants.registry import VARIANTS

pytestmark = pytest.mark.nohook  # the shape hook refuses a wrong Python type before we do

SOURCES: dict[str, Callable[[], nn.Module]] = {
    **{variant.name: variant.build for variant in VARIANTS},
    "rotary, with norms": lambda: MultiHeadAttention(
        12, 3, split=RotarySplit(3, Rotary(4), q_norm=nn.RMSNorm(4), k_norm=nn.RMSNorm(4))
    ),
    "a context of another width": lambda: MultiHeadAttention(12, 3, d_context=5, bias=True),
    "biases": lambda: MultiHeadAttention(12, 3, bias=True),
    "grouped with biases": lambda: GroupedQueryAttention(12, 6, 2, bias=True),
    "latent with biases": lambda: LatentAttention(12, 3, 5, 2, bias=True),
    "overlapped": lambda: OverlappedAttention(12, 3, 1),
    "fused in groups": lambda: FusedMultiHeadAttention(12, 6, n_kv_heads=2, bias=True),
    "smeared keys": lambda: MultiHeadAttention(12, 3, split=SmearedSplit(3)),  # all refuse it
}
CHANGED = (
    "biases",
    "grouped with biases",
    "latent with biases",
    "overlapped",
    "rotary, with norms",
)
ROTARY = ["fused", "pooled", "aligned", "halves", "neighbours", "shares", "pruned"]
PLAIN = ["fused", "latent", "pooled", "aligned", "collaborative", "shares", "pruned"]
LATENT = ["fused, of latents", "absorbed", "shares"]
CONVERTED = {
    "MultiHeadAttention": PLAIN,
    "free d_head": PLAIN,
    "FusedMultiHeadAttention": ["five stages", "shares"],
    "GroupedQueryAttention": ["fused", "pooled", "aligned", "pruned"],
    "MultiQueryAttention": ["fused", "pooled", "aligned", "shares", "pruned"],
    "MultiHeadAttention with RotarySplit": ROTARY,
    "GroupedQueryAttention with RotarySplit": ROTARY,
    "LatentAttention": LATENT,
    "LatentAttention with direct queries, biases, other widths": LATENT,
    "OverlappedAttention": ["unshared"],
    "OverlappedAttention, whole heads": ["unshared"],
    "rotary, with norms": ["fused", "pooled", "halves", "neighbours", "pruned"],
    "a context of another width": ["fused", "pooled", "aligned", "shares", "pruned"],
    "biases": PLAIN,
    "grouped with biases": ["fused", "pooled", "aligned", "shares", "pruned"],
    "latent with biases": LATENT,
    "overlapped": ["unshared"],
    "fused in groups": ["five stages", "shares"],
    "CappedAttend": ["fused"],
    "SinkAttend": ["fused"],
    "PartialRotary, YaRN, GemmaNorm": ["fused"],
}
"""What is converted, and equal to 1e-5. A name may come, none may go."""
PLACES = "project", "split", "attend", "concat", "W_O", "attend.scores", "attend.weights"


def made(build: Callable[[], nn.Module]) -> nn.Module:
    torch.manual_seed(0)
    return filled(build().eval(), std=0.3)


def said(convert_it: Callable[[Any], nn.Module], source: nn.Module) -> str | None:
    """ "equal", or a refusal, or what is neither; None where the source itself cannot run."""
    source = source.double()
    width = getattr(source, "d_context", 12)
    x = rand(2, 5, 12)
    context = () if width == 12 else (rand(2, 7, width),)
    try:
        with torch.no_grad():
            expected = source(x, *context)
    except Exception:  # this stage does not fit here at all, so there is nothing to compare
        return None
    try:
        ours = convert_it(source)
    except (TypeError, ValueError) as error:
        return "refused" if foreign.refuses(str(error)) else f"unclear: {error!r}"
    except Exception as error:
        return f"unclear: {error!r}"
    with torch.no_grad():
        far = (ours.eval()(x, *context) - expected).abs().max().item()
    return "equal" if far <= 1e-5 else f"{far:.2g} away"


def test_every_variant_is_converted_rightly_or_refused():
    found = {
        (source, name): said(convert_it, made(build))
        for source, build in SOURCES.items()
        for name, convert_it in CONVERSIONS.items()
    }
    assert set(found.values()) == {"equal", "refused"}, {
        pair: words for pair, words in found.items() if words not in ("equal", "refused")
    }
    table = {}
    for (source, name), words in found.items():
        if words == "equal":
            table.setdefault(source, []).append(name)
    assert table == CONVERTED


def stages() -> Iterator[Stage]:
    """One instance of every class of stage, from the attentions that bring it."""
    found = {
        type(stage): stage
        for build in SOURCES.values()
        for path, stage in stages_of(build()).items()
        if path
    }
    yield from found.values()


def subclasses(kind: type) -> Iterator[type]:
    for each in kind.__subclasses__():
        yield each
        yield from subclasses(each)


def test_every_class_of_stage_is_walked():
    import mhsa_book.exercises  # whoever imported it before: its stages serve an exercise

    here = {
        each
        for each in subclasses(Stage)
        if each.__module__.startswith("mhsa_lib")
        and not each.__module__.startswith(mhsa_book.exercises.__name__)
    }
    attentions = {each for each in here if issubclass(each, MultiHeadAttention)}
    assert here - attentions - set(map(type, stages())) == set()


@pytest.mark.parametrize("source", CHANGED)
def test_every_stage_in_the_place_of_every_stage(source):
    wrong = []
    for place in PLACES:
        owner, _, last = place.rpartition(".")
        for stage in stages():
            for name in CONVERTED[source]:
                attention = made(SOURCES[source])
                setattr(attention.get_submodule(owner), last, deepcopy(stage))
                words = said(CONVERSIONS[name], attention)
                if words not in ("equal", "refused", None):
                    wrong.append((place, type(stage).__name__, name, words))
    assert not wrong, "\n".join(map(str, wrong))


WAYS = [way for way in mutilated.WAYS if way is not mutilated.in_half_precision]


@pytest.mark.parametrize("mutilate", WAYS, ids=lambda way: way.__name__)
def test_a_mutilated_attention_of_ours_is_converted_rightly_or_refused(mutilate):
    allowed = mutilated.WAYS[mutilate]
    if allowed != ("equal",):
        allowed = ("equal", "refused", None)
    if mutilate is mutilated.without_a_value_bias:
        allowed = ("equal", "refused")  # in one packed map a bias that is not there would learn
    for source in [*CHANGED, "fused in groups"]:
        for name in CONVERTED[source]:
            with foreign.quiet():
                changed = mutilate(made(SOURCES[source]))
                words = "equal" if changed is None else said(CONVERSIONS[name], changed)
            assert words in allowed, (source, name, words)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_what_comes_out_has_the_dtype_of_what_went_in(dtype):
    for source in [*CHANGED, "fused in groups"]:
        for name in CONVERTED[source]:
            ours = CONVERSIONS[name](made(SOURCES[source]).to(dtype))
            assert {parameter.dtype for parameter in ours.parameters()} == {dtype}, name


@pytest.mark.parametrize("learns", [True, False])
def test_what_comes_out_learns_as_what_went_in(learns):
    for source in [*CHANGED, "fused in groups"]:
        for name in CONVERTED[source]:
            with torch.no_grad():
                ours = CONVERSIONS[name](made(SOURCES[source]).requires_grad_(learns))
            assert {parameter.requires_grad for parameter in ours.parameters()} == {learns}, (
                name
            )
