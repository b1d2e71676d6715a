"""Chapter 11: what is said about layers, slices and scores of heads."""

import ast

import pytest
import torch

from mhsa_book.exercises import check, real_model
from mhsa_book.exercises.real_model import ARTICLES, attention_maps
from tests.notebooks.conftest import read
from tools.build.notebooks import FOLDER, plain_code

ALL = slice(None)


def constant_of_the_chapter(name):
    """What the chapter says a name is, its other names put in."""
    values = {}
    for node in ast.parse(plain_code(read(FOLDER / "11_heads_of_a_real_model.ipynb"))).body:
        target = getattr(node, "targets", [None])[0]
        if isinstance(target, ast.Name) and target.id in ("text", "texts", "articles"):
            values[target.id] = eval(ast.unparse(node.value), {}, dict(values))
    return values[name]


def steps(of):
    """Mean weight on the next token, after the tokens that `of` accepts."""
    score = torch.zeros(6, 12)
    for tokens, weights in attention_maps():
        after = torch.tensor([of(token) for token in tokens[:-1]])
        score += weights.diagonal(offset=1, dim1=-2, dim2=-1)[..., after].mean(dim=-1) / 6
    return score


def articles():
    return steps(lambda token: token in ARTICLES)


def others():
    return steps(lambda token: token not in ARTICLES)


def winner(layer, head):
    return torch.zeros(6, 12).index_put(
        (torch.tensor(layer), torch.tensor(head)), torch.tensor(1.0)
    )


def test_the_sentences_and_the_articles_are_those_of_the_chapter():
    assert list(real_model.TEXTS) == constant_of_the_chapter("texts")
    assert constant_of_the_chapter("articles") == ARTICLES


def test_only_the_first_layer_has_no_resting_head_and_the_counts_are_as_said():
    assert check("layer_without_rest", 0)
    assert real_model.resting() == [0, 6, 8, 6, 10, 2]
    for layer, said in enumerate(("Six", "Eight", "Six", "ten", "Two"), start=1):
        assert said in check("layer_without_rest", layer).text
    assert "give its number" in check("layer_without_rest", "L0").text


@pytest.mark.parametrize("own", [ALL, slice(0, None), slice(None, None, 1), slice(0, 99)])
def test_any_slice_that_keeps_all_tokens_is_right(own):
    assert check("positional_with_ends", (own, 1))
    assert check("positional_with_ends", [own, torch.tensor(1)])


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((slice(1, -1), 4), "leaves [CLS] and [SEP] out"),
        ((slice(0, -1), 1), "leaves [SEP] out"),
        ((slice(1, None), 4), "leaves [CLS] out"),
        ((slice(None, None, 2), 1), "leaves [SEP] out"),
        ((slice(None, None, -1), 1), "leaves tokens out"),
        ((ALL, 4), "That many pass without"),
        ((ALL, 0), "One head looks"),
        ((ALL, [1, 0]), "How many heads are they together"),
        ((ALL, 2), "It is not 2."),
        ((ALL, None), "It is not None."),
        ((1, ALL), "1 is no slice"),
        (ALL, "Two things are asked for"),
        (None, "Two things are asked for"),
        ("ab", "Two things are asked for"),
    ],
)
def test_a_wrong_slice_or_number_hears_what_it_is(answer, said):
    assert said in check("positional_with_ends", answer).text


def test_scores_that_let_other_words_count_against_a_head_are_right():
    assert check("after_articles", articles() - others())
    assert check("after_articles", (articles() - others()).tolist())
    assert check("after_articles", articles() * (1 - others()))


def test_scores_with_another_winner_hear_what_it_does():
    assert "L1H8 wins" in check("after_articles", articles()).text
    assert "it goes there from everywhere" in check("after_articles", articles()).text
    assert "hardly goes there" in check("after_articles", articles() / others()).text
    assert "hardly goes there" in check("after_articles", others() - articles()).text
    assert "L1H4 wins" in check("after_articles", winner(1, 4)).text
    assert "from other words too" in check("after_articles", winner(1, 4)).text


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (torch.zeros(6, 12), "nobody wins"),
        (torch.full((6, 12), torch.nan), "NaN"),
        (torch.ones(72), "not (72,)"),
        (torch.ones(12, 6), "not (12, 6)"),
        (None, "Trying it raises"),
        ("L2H8", "Trying it raises"),
        (lambda: 1 / 0, "Trying it raises"),
    ],
)
def test_what_is_no_score_is_said(answer, said):
    assert said in check("after_articles", answer).text
