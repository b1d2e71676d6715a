"""Sizes that hold each other: one rule in Python and on the page."""

import itertools

import pytest

from mhsa_book import widgets
from mhsa_book.widgets.cache_calculator import OWN
from mhsa_book.widgets.sizes import problem_of
from mhsa_lib import variants
from tests.mhsa_book.widgets.conftest import node

NAMES = "d_model", "n_heads", "n_kv_heads", "d_head"


def test_the_page_and_python_refuse_the_same_sizes_in_the_same_words():
    every = itertools.product(range(1, 17), range(1, 9), range(1, 9), (None, 1, 5))
    states = [dict(zip(NAMES, sizes, strict=True)) for sizes in every]
    found = node("shared/size_rules", *(("problemOf", state) for state in states))
    assert found == [problem_of(**state) for state in states]
    assert None in found
    assert len(set(found)) > 100


@pytest.mark.parametrize(
    ("figure", "words"),
    [
        (widgets.ShapeTracer(d_model=512, n_heads=5), "n_heads=5 does not divide d_model=512"),
        (widgets.ShapeTracer(n_kv_heads=2), "n_kv_heads=2 does not divide n_heads=3"),
        (widgets.HeadBudget(n_heads=5), "try d_model=510 or d_model=515, or set d_head."),
        (widgets.CacheCalculator(model=OWN, n_kv_heads=5), "try n_kv_heads=4 or n_kv_heads=8"),
    ],
)
def test_a_state_that_cannot_be_shown_says_so_in_python_and_without_a_script(figure, words):
    assert words in figure.refusal
    assert f"<noscript><p>{figure.refusal}</p></noscript>" in figure.html()


def test_sizes_that_go_together_have_no_problem():
    attention = variants.GroupedQueryAttention(12, 3, 1)
    figures = [
        widgets.ShapeTracer(d_head=7, n_heads=5),
        widgets.ShapeTracer.of(attention),
        widgets.HeadBudget(d_head=7, n_heads=5),
        widgets.CacheCalculator(),
        widgets.MaskLab(),
    ]
    assert [figure.refusal for figure in figures] == [None] * 5


def test_heads_for_keys_move_along_in_python_where_they_were_as_many():
    tracer = widgets.ShapeTracer(d_model=768, n_heads=12)
    tracer.n_heads = 8
    assert (tracer.n_kv_heads, tracer.refusal) == (8, None)
    tracer.n_kv_heads = 4
    tracer.n_heads = 12
    assert tracer.n_kv_heads == 4
    assert widgets.ShapeTracer(d_model=768, n_heads=12, n_kv_heads=3).n_kv_heads == 3


def test_heads_go_over_divisors_move_along_with_the_width_and_come_back_with_it():
    most = {"d_model": 16_384, "n_heads": 128, "n_kv_heads": 128, "d_head": 512}
    wished = {"n_heads": 12, "n_kv_heads": None}  # for keys as many as there are
    gpt2 = dict(zip(NAMES, (768, 12, 12, None), strict=True))
    (stops,) = node("shared/size_rules", ("left", "n_heads", gpt2, most))
    assert stops == [n for n in range(1, 129) if 768 % n == 0]
    moves = ("settled", gpt2 | {"d_model": 512}, "d_model", wished, most)
    (there,) = node("shared/size_rules", moves)
    assert (there["n_heads"], there["n_kv_heads"]) == (16, 16)
    (back,) = node("shared/size_rules", ("settled", there | {"d_model": 768}, *moves[2:]))
    assert back == gpt2
