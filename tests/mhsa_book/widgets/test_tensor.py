"""The page's own mathematics of attention, against PyTorch in float64."""

import math

import torch

from mhsa_book import measure
from mhsa_lib import functional
from tests.mhsa_book.widgets.conftest import node


def random(*shape, seed=0, spread=1.0):
    generator = torch.Generator().manual_seed(seed)
    return spread * torch.randn(shape, generator=generator, dtype=torch.float64)


def test_softmax_under_any_mask_is_that_of_the_library_also_for_huge_scores():
    cases = [
        (random(5, 7, seed=seed, spread=spread), random(5, 7, seed=seed + 100) > 0)
        for seed, spread in enumerate((1.0, 30.0, 1e3, 1e6))
    ]
    cases[0][1][2] = False  # an empty row
    calls = [("softmax", scores.tolist(), mask.tolist()) for scores, mask in cases]
    for (scores, mask), found in zip(cases, node("shared/tensor", *calls), strict=True):
        torch.testing.assert_close(
            torch.tensor(found).double(), functional.softmax(scores, mask)
        )
    (nan,) = node("shared/tensor", ("softmaxRow", [1.0, 2.0], [False, False]))
    assert nan == [0, 0]


def test_products_are_those_of_pytorch():
    a, b = random(4, 6), random(6, 3, seed=1)
    product, turned, dot, narrow, wide = node(
        "shared/tensor",
        ("matmul", a.tolist(), b.tolist()),
        ("transpose", a.tolist()),
        ("dot", a[0].tolist(), a[1].tolist()),
        ("columns", a.tolist(), 2, 5),
        ("beside", [a.tolist(), a.tolist()]),
    )
    torch.testing.assert_close(torch.tensor(product).double(), a @ b)
    torch.testing.assert_close(torch.tensor(turned).double(), a.mT)
    assert math.isclose(dot, (a[0] @ a[1]).item())
    torch.testing.assert_close(torch.tensor(narrow).double(), a[:, 2:5])
    torch.testing.assert_close(torch.tensor(wide).double(), torch.cat([a, a], dim=1))


def test_entropy_counts_nothing_for_a_weight_of_zero():
    weights = torch.tensor([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]], dtype=torch.float64)
    found = node("shared/tensor", *[("entropy", row) for row in weights.tolist()])
    expected = measure.entropy(weights[None])[0] / math.log(2)
    torch.testing.assert_close(torch.tensor(found).double(), expected)
