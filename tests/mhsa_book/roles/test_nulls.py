"""What the search over all heads finds when the partners mean nothing."""

import pytest
import torch

from mhsa_book import roles
from mhsa_book.roles import nulls
from mhsa_book.roles.arcs import Arcs
from tests.mhsa_book.roles.sentences import SENTENCES

DET = roles.dependencies(SENTENCES, "det")


def many(n, relation):
    """One arc in each of n sentences of twelve words, the partner where ``relation`` says."""
    sentence, word = torch.arange(n), torch.randint(1, 11, (n,))
    return Arcs(sentence, word, relation(word), torch.full((n,), 12))


def test_any_word_is_any_other_word_of_the_sentence():
    likely = nulls.any_word(DET)
    for row, word, n in zip(likely, DET.word, DET.n_words, strict=True):
        assert row[word] == 0
        assert row.sum() == n - 1
        assert not row[n:].any()


def test_any_word_before_is_an_earlier_one():
    likely = nulls.any_word_before(roles.antecedents(SENTENCES))
    for row, word in zip(likely, roles.antecedents(SENTENCES).word, strict=True):
        assert row.tolist() == [1.0] * word + [0.0] * (len(row) - word)


def test_as_far_draws_distances_as_often_as_the_relation_has_them():
    likely = nulls.as_far(DET)  # six dets stand one word before their noun, five stand two
    for row, word in zip(likely, DET.word, strict=True):
        assert row[word + 1] == 6
        assert row[word + 2] == 5
        assert row.sum() == row[word + 1 : word + 3].sum()


def test_as_far_draws_nothing_behind_the_end():
    arcs = Arcs(*torch.tensor([[0, 1], [0, 3], [2, 4], [9, 5]]))
    assert nulls.as_far(arcs)[1].tolist() == [0, 0, 0, 0, 1, 0, 0, 0, 0]


def test_a_true_partner_can_always_be_drawn():
    for relation in ("det", "nsubj", "obj", "punct"):
        arcs = roles.dependencies(SENTENCES, relation)
        assert nulls.as_far(arcs).gather(1, arcs.partner[:, None]).min() >= 1


def test_a_head_that_only_knows_the_distance_is_as_good_by_chance():
    arcs = many(300, lambda word: word + torch.where(torch.rand(len(word)) < 0.7, 1, -1))
    place = torch.arange(12)
    tops = (place + 1).clamp(max=11).expand(300, 1, 1, 12)
    found = nulls.by_chance(tops, arcs, nulls.as_far)
    assert found.quantile(0.025) < roles.largest(tops, arcs) < found.quantile(0.975)
    assert nulls.by_chance(tops, arcs, nulls.any_word).max() < 0.3


def test_a_head_that_knows_the_partner_is_beyond_chance():
    arcs = many(300, lambda word: word + torch.where(torch.rand(len(word)) < 0.7, 1, -1))
    tops = torch.zeros(300, 1, 1, 12, dtype=torch.long)
    tops[arcs.sentence, 0, 0, arcs.word] = arcs.partner
    assert roles.largest(tops, arcs) == 1
    assert nulls.by_chance(tops, arcs, nulls.as_far).max() < 0.8


def test_the_best_of_many_heads_is_better_by_chance_than_one():
    arcs = many(60, lambda word: word - 1)
    tops = torch.randint(12, (60, 6, 12, 12))
    one = nulls.by_chance(tops[:, :1, :1], arcs, nulls.any_word)
    all_of_them = nulls.by_chance(tops, arcs, nulls.any_word)
    assert all_of_them.median() > 1.5 * one.median()


def test_both_directions_are_searched():
    arcs = many(50, lambda word: word - 1)
    tops = torch.full((50, 1, 1, 12), -1)
    tops[arcs.sentence, 0, 0, arcs.partner] = arcs.word
    assert roles.largest(tops, arcs) == 1
    assert roles.largest(tops, arcs.turned()) == 1


def test_where_all_is_chance_the_true_arcs_are_an_ordinary_draw():
    """Over many worlds, the share of draws below the true value is spread evenly."""
    below = []
    for _ in range(40):
        arcs = many(40, lambda word: torch.where(word > 5, word - 3, word + 2))
        arcs = arcs._replace(
            partner=torch.multinomial(nulls.any_word(arcs), 1).flatten(),
        )
        tops = torch.randint(12, (40, 2, 3, 12))
        drawn = nulls.by_chance(tops, arcs, nulls.any_word, n_draws=100)
        below.append((drawn < roles.largest(tops, arcs)).double().mean())
    assert 0.3 < torch.stack(below).mean() < 0.6  # ties count as not below


def test_draws_are_those_of_the_seed_and_sorted():
    tops = torch.randint(14, (6, 1, 2, 14))
    draws = [nulls.by_chance(tops, DET, nulls.any_word, n_draws=9, seed=s) for s in (1, 1, 2)]
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])
    assert torch.equal(draws[0], draws[0].sort().values)
    with pytest.raises(ValueError, match="n_draws=0 is not a size"):
        nulls.by_chance(tops, DET, nulls.any_word, n_draws=0)


def test_the_word_that_is_looked_at_is_drawn_in_both_directions():
    """A head that looks at "because" from everywhere knows no verb of a clause."""
    arcs = many(200, lambda word: (word + 3) % 12)
    arcs = arcs._replace(word=torch.zeros_like(arcs.word), partner=arcs.word)
    tops = torch.zeros(200, 1, 1, 12, dtype=torch.long)  # always the first word
    assert roles.largest(tops, arcs) == 1
    assert nulls.by_chance(tops, arcs, nulls.any_word).max() < 0.3


def test_one_way_never_looks_from_the_partner():
    arcs = many(100, lambda word: word - 1)
    tops = torch.full((100, 1, 1, 12), -1)
    tops[arcs.sentence, 0, 0, arcs.partner] = arcs.word
    assert nulls.by_chance(tops, arcs, lambda a: nulls.as_far(a)).max() > 0.5
    assert nulls.one_way_by_chance(tops, arcs, nulls.any_word_before).max() == 0
