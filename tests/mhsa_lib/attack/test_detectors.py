"""The attack finds mistakes: each is planted, found in seconds, and gone when taken out."""

from collections.abc import Callable
from random import Random
from unittest.mock import patch

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from mhsa_lib import convert, masks
from mhsa_lib.cache import memory
from mhsa_lib.fused import kernels
from mhsa_lib.masks.structure import Band, Structure
from mhsa_lib.stages import Attend
from tests.mhsa_lib.attack import oracle, trace_effects
from tests.mhsa_lib.attack.run import one
from tests.mhsa_lib.attack.tolerance import bounds
from tests.mhsa_lib.convert.sources import bert

pytestmark = pytest.mark.nohook


def finding(target: str, planted: Callable[[], object], most: int = 150) -> str:
    """The text of the first finding that the planted mistake makes; empty for none."""
    random = Random(1)
    for number in [random.randrange(10**9) for _ in range(most)]:
        with planted():
            outcome = one(target, number)
        if outcome.status == "FINDING" and one(target, number).status != "FINDING":
            return outcome.text
    return ""


def other_scale():
    real = kernels.attend

    def attend(*args, scale, **options):
        return real(*args, scale=1.02 * scale, **options)

    return patch.object(kernels, "attend", attend)


def causal_off_by_one():
    structure = Structure(Band(ahead=1), exact=True)
    late = masks.Predicate(lambda query, key: query + 1 >= key, "causal", structure)
    return patch.object(masks, "causal", late)


def no_bias():
    def forward(self, x):
        return F.linear(x, self.weight)

    return patch.object(nn.Linear, "forward", forward)


def positions_off_by_one():
    real = memory._slot_positions
    return patch.object(memory, "_slot_positions", lambda *args: real(*args) + 1)


def an_edit_without_effect():
    return patch.dict(
        trace_effects.CHANGES, {name: torch.clone for name in trace_effects.CHANGES}
    )


def scores_a_little_larger():
    real = Attend.score
    return patch.object(Attend, "score", lambda self, q, k: real(self, 1.02 * q, k))


@pytest.mark.parametrize("planted", [other_scale, causal_off_by_one, no_bias])
def test_a_mistake_in_the_fused_module_is_found(planted):
    assert "wrong by" in finding("fused", planted)


def test_a_mistake_in_the_positions_of_a_cache_is_found():
    assert "wrong by" in finding("caches", positions_off_by_one)


@pytest.mark.parametrize("planted", [causal_off_by_one, no_bias])
def test_a_mistake_is_found_through_a_cache(planted):
    assert "wrong by" in finding("caches", planted)


def test_a_hook_that_stays_behind_is_found():
    class Kept:
        def remove(self):
            pass

    def keeping(module, hook, **options):
        module._forward_hooks[id(hook)] = hook
        return Kept()

    planted = lambda: patch.object(torch.nn.Module, "register_forward_hook", keeping)  # noqa: E731
    assert "hooks left behind" in finding("trace", planted)


def test_larger_scores_are_refused_by_the_conversion_itself():
    layer = bert(3, 4)
    with scores_a_little_larger(), pytest.raises(ValueError, match="differ by"):
        convert.from_bert(layer)


def test_a_mistake_in_a_variant_is_found():
    assert "wrong by" in finding("variants", causal_off_by_one)


def test_the_definition_is_right_where_it_can_be_counted():
    q, k = torch.tensor([[[30.0]]]), torch.tensor([[[-30.0], [-30.0]]])
    v = torch.tensor([[[2.0], [4.0]]])
    both, first, none = ([True, True], [True, False], [False, False])
    for allowed, mean in ((both, 3.0), (first, 2.0), (none, 0.0)):
        allowed = torch.tensor([[allowed]])
        z = oracle.attend(q.double(), k.double(), v.double(), allowed, 1.0)
        assert z.item() == mean
    scores = torch.tensor([[1.0, 2.0]], dtype=torch.float64).log()
    weights = oracle.weigh(scores, torch.ones(1, 2).bool())
    assert torch.allclose(weights, torch.tensor([[1 / 3, 2 / 3]]).double())


@pytest.mark.parametrize("n", [1, 7, 100])
def test_rounding_stays_within_its_bounds_and_a_mistake_does_not(n):
    x = torch.randn(n, 12, dtype=torch.float64)
    W = {name: torch.randn(12, 12).double() / 4 for name in "QKVO"}
    allowed, sizes = torch.ones(n, n).bool(), (3, 3, 0.5)
    exact = oracle.whole(x, x, allowed, W, *sizes)
    single = {name: value.float() for name, value in W.items()}
    rounded = oracle.whole(x.float(), x.float(), allowed, single, *sizes).double()
    within = bounds(x, x, allowed, W, *sizes, torch.float32).y
    assert ((rounded - exact).abs() <= within).all()
    assert (within < 0.01 * exact.abs().amax()).all()
    W["O"] *= 1.01
    assert ((oracle.whole(x, x, allowed, W, *sizes) - exact).abs() > within).any()
