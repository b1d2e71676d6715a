"""An experiment on black boxes: three designs are right, and poor ones hear whom they miss."""

import pytest
import torch

from mhsa_book import museum
from mhsa_book.exercises import check, solutions
from mhsa_book.exercises.black_box import NOT_ASKED, black_box, suspects
from mhsa_book.museum.parts import RIGHT, Setting

pytestmark = pytest.mark.nohook  # thousands of calls, which take twice as long under the hook


def moved(attention, place, *, seq=6, before=None):
    """How far every row moves when one token changes, (row,)."""
    before = torch.randn(1, seq, 24) if before is None else before
    after = before.clone()
    after[:, place] += 1
    return (attention(after) - attention(before)).abs().amax(dim=(0, 2))


def cut_off(attention):
    x = torch.randn(2, 8, 24)
    return any(
        not torch.allclose(attention(x)[:, :n], attention(x[:, :n]), atol=1e-5)
        for n in range(1, 8)
    )


def by_gradient(attention):
    x = torch.randn(1, 7, 24, requires_grad=True)
    for i in range(6):
        (slope,) = torch.autograd.grad(attention(x)[0, i].sum(), x)
        if slope[0, i + 1 :].abs().max() > 1e-6:
            return True
    return False


@pytest.mark.parametrize("design", [solutions.sees_the_future, cut_off, by_gradient])
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2))]
)
def test_three_designs_are_accepted(design, seed):
    torch.manual_seed(seed)
    verdict = check("sees_the_future", design)
    assert verdict, verdict.text
    assert "Of 46 attentions 11 let a row see a later token" in verdict.text


@pytest.mark.parametrize(
    ("design", "said"),
    [
        (lambda a: bool(moved(a, 0).max() > 1e-5), "True of the right attention"),
        (lambda a: bool(moved(a, -1).max() > 1e-5), "True of the right attention"),
        (lambda a: True, "True of the right attention with 2 heads"),
        (lambda a: False, "misses split_by_view_alone"),
        (lambda a: bool(moved(a, -1)[0] > 1e-5), "one_token_of_the_future (The diagonal"),
        (lambda a: bool(moved(a, 1, seq=2)[0] > 1e-5), "misses keys_reshaped_not_transposed"),
        (
            lambda a: bool(moved(a, -1, before=torch.zeros(1, 6, 24))[:-1].max() > 1e-5),
            "misses keys_reshaped_not_transposed",
        ),
        (lambda a: a(torch.randn(5, 24)).max() > 0, "has to be (batch, seq, 24)"),
        (lambda a: moved(a, -1) > 1e-5, "raises RuntimeError"),
        (True, "is no function"),
    ],
)
def test_a_poor_design_hears_whom_it_misses_or_blames(design, said):
    torch.manual_seed(0)
    verdict = check("sees_the_future", design)
    assert verdict.state == "wrong"
    assert said in verdict.text


def test_dots_are_no_answer_yet():
    assert check("sees_the_future", lambda attention: ...).state == "unfilled"


def test_every_exhibit_on_the_way_is_a_suspect_or_says_why_not():
    asked = [who for who, _ in suspects()]
    assert len({*asked}) == len(asked)
    assert not {*asked} & {*NOT_ASKED}
    assert {*NOT_ASKED} <= {each.name for each in museum.exhibits()}


def test_the_length_alone_is_seen_by_one_that_is_no_suspect():
    x = torch.randn(1, 6, 24)
    alike = black_box(museum.exhibit("scaled_after_the_softmax").all_parts, Setting())
    right = black_box(RIGHT, Setting())
    assert moved(alike, -1)[:-1].max() < 1e-5
    assert not torch.allclose(alike(x)[:, :3], alike(x[:, :3]), atol=1e-3)
    assert torch.allclose(right(x)[:, :3], right(x[:, :3]), atol=1e-5)
