"""W_O as a sum: the parts are PyTorch's, and their sum is the product."""

import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from traitlets import TraitError

from mhsa_book import examples
from mhsa_book.plots.contribution import _parts
from mhsa_book.widgets import OutputSum
from mhsa_lib import trace
from tests.mhsa_book.widgets.conftest import node
from tests.mhsa_book.widgets.six_words import output_sum

# --- the mathematics, in node ----------------------------------------------------------------


def test_the_page_computes_what_pytorch_computes():
    cases, calls = [], []

    @settings(max_examples=12)
    @given(*[st.integers(1, 5)] * 4, st.booleans(), st.data())
    def collect(n_heads, n_query, d_head, d_model, bias, data):
        z = torch.randn(n_heads, n_query, d_head)
        W_O = nn.Linear(n_heads * d_head, d_model, bias=bias)
        off = data.draw(st.lists(st.integers(0, n_heads - 1), unique=True))
        figure = OutputSum(z, W_O, off=off)
        cases.append((z, W_O, off))
        calls.append(("written", figure.z, figure.W_O))
        calls.append(("product", figure.z, figure.W_O, figure.bias, off))

    collect()
    found = iter(node("output_sum/sums", *calls))
    for z, W_O, off in cases:
        written, product = (torch.tensor(next(found)).float() for _ in range(2))
        per_head = torch.stack(
            [
                list(_parts(row, W_O).values())[h]
                for row in z.transpose(0, 1).double()
                for h in range(len(z))
            ]
        )
        expected = per_head.unflatten(0, (z.shape[1], z.shape[0])).transpose(0, 1).float()
        torch.testing.assert_close(written, expected, atol=1e-5, rtol=1e-5)
        z = z.index_fill(0, torch.tensor(off, dtype=torch.long), 0.0)
        y = W_O(z.transpose(0, 1).flatten(1)).detach()
        torch.testing.assert_close(product, y, atol=1e-5, rtol=1e-5)


def test_the_sum_over_heads_is_the_product():
    figure = OutputSum(torch.randn(3, 4, 2), nn.Linear(6, 5))
    (written,) = node("output_sum/sums", ("written", figure.z, figure.W_O))
    parts = [*written, [figure.bias] * 4]
    for off in ([], [1], [0, 2], [0, 1, 2]):
        (summed,) = node("output_sum/sums", ("summed", parts, off))
        (product,) = node(
            "output_sum/sums", ("product", figure.z, figure.W_O, figure.bias, off)
        )
        torch.testing.assert_close(torch.tensor(summed), torch.tensor(product))
    (difference,) = node("output_sum/sums", ("apart", [[1.0, 2.0]], [[1.5, 2.25]]))
    assert difference == 0.5


def test_positive_parts_go_up_and_negative_ones_down():
    values = [2.0, -1.0, 3.0, -0.5]
    (bars,) = node("output_sum/sums", ("stacked", values))
    assert [(bar["from"], bar["to"]) for bar in bars] == [(0, 2), (0, -1), (2, 5), (-1, -1.5)]
    (reach,) = node("output_sum/sums", ("reach", [[[value]] for value in values]))
    assert reach == [-1.5, 5]


def test_ticks_are_round_and_lie_inside():
    (found, tiny) = node("output_sum/sums", ("ticks", -4.7, 4.4), ("ticks", 0, 0.003))
    assert found == [-4, -2, 0, 2, 4]
    torch.testing.assert_close(torch.tensor(tiny), torch.tensor([0.0, 0.001, 0.002, 0.003]))


# --- the class -------------------------------------------------------------------------------


def test_without_arguments_it_is_the_running_example():
    attention = examples.attention()
    with trace(attention) as wires:
        attention(examples.sentences()[0])
    figure = OutputSum()
    torch.testing.assert_close(torch.tensor(figure.z), wires["z"])
    torch.testing.assert_close(torch.tensor(figure.W_O), attention.W_O.weight.T)
    assert figure.bias is None
    assert tuple(figure.tokens) == examples.SENTENCES[0]
    assert tuple(figure.columns) == examples.COLUMNS
    assert OutputSum(columns="abcdefghijkl").columns == list("abcdefghijkl")


def test_a_leading_axis_of_one_and_plain_names_for_tokens():
    figure = OutputSum(torch.ones(1, 3, 6, 4), nn.Linear(12, 5))
    assert len(figure.z) == 3
    assert figure.tokens == ["0", "1", "2", "3", "4", "5"]
    assert figure.columns == ["0", "1", "2", "3", "4"]
    assert len(figure.bias) == 5


@pytest.mark.parametrize(
    ("words", "make"),
    [
        ("W_O takes 10", lambda: OutputSum(torch.ones(3, 6, 4), nn.Linear(10, 12))),
        ("choose a sequence", lambda: OutputSum(torch.ones(2, 3, 6, 4), nn.Linear(12, 12))),
        ("come together", lambda: OutputSum(torch.ones(3, 6, 4))),
        (
            "6 queries but there are 2",
            lambda: OutputSum(torch.ones(3, 6, 4), nn.Linear(12, 2), "ab"),
        ),
        (
            "2 coordinates but there are 1 columns",
            lambda: OutputSum(torch.ones(3, 6, 4), nn.Linear(12, 2), columns="a"),
        ),
        ("13 heads are more", lambda: OutputSum(torch.ones(13, 6, 2), nn.Linear(26, 2))),
        ("33 queries", lambda: OutputSum(torch.ones(1, 33, 2), nn.Linear(2, 2))),
        ("72 columns of concat", lambda: OutputSum(torch.ones(12, 6, 6), nn.Linear(72, 2))),
        ("49 coordinates of y", lambda: OutputSum(torch.ones(1, 6, 2), nn.Linear(2, 49))),
        ("z has NaN", lambda: OutputSum(torch.full((1, 6, 2), torch.nan), nn.Linear(2, 2))),
    ],
)
def test_what_does_not_fit_is_refused(words, make):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize(
    ("name", "value"),
    [("position", 6), ("coordinate", -1), ("coordinate", 12), ("off", [0, 3])],
)
def test_what_does_not_exist_is_refused(name, value):
    figure = output_sum()
    with pytest.raises(TraitError, match=f"{name}={re.escape(str(value))} is not from 0"):
        setattr(figure, name, value)
    with pytest.raises(TraitError):
        output_sum(**{name: value})


def test_the_still_picture_draws_the_heads_that_are_on(drawn_contributions):
    output_sum(position=2, off=[1]).still()
    z, W_O, position, coordinates, columns = drawn_contributions
    assert (z[1] == 0).all()
    assert (z[0] != 0).any()
    assert (position, list(coordinates)) == (2, list(range(12)))
    assert columns == [str(c) for c in range(12)]
    torch.testing.assert_close(W_O.weight, examples.random_attention().W_O.weight)


@pytest.fixture
def drawn_contributions(monkeypatch):
    calls = []
    monkeypatch.setattr("mhsa_book.plots.contributions", lambda *args: calls.extend(args))
    return calls


def test_html_carries_tokens_as_data():
    html = OutputSum(torch.ones(1, 1, 2), nn.Linear(2, 2), ["</script><b>"]).html()
    assert "</script><b>" not in html
    assert "<img alt=" in html


def test_a_figure_stays_within_its_budget(report):
    large = OutputSum(torch.randn(12, 32, 5), nn.Linear(60, 48))
    data = re.search(r'<script type="application/json">(.*?)</script>', large.html(), re.S)[1]
    report(f"output sum: {len(data.encode()) / 1000:.0f} kB of data at its largest")
    assert len(data.encode()) <= 200_000
