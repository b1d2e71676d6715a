"""Chapter 20: what a rank holds, and heads of keys that are written down more often."""

import pytest
import torch

from mhsa_book.exercises import check
from mhsa_lib.variants import GroupedQueryAttention

ROWS = [*range(8), 16, 17, 20, 21]


def in_a_row(heads, times):
    return heads.repeat_interleave(times, dim=0)


def in_turns(heads, times):
    return heads.repeat(times, 1, 1)


def zeros(heads, times):
    return in_a_row(heads, times) * 0


def repeater(keys=in_a_row, values=in_a_row, queries=1.0):
    """A function that repeats heads, each kind in its own way."""

    def repeated(attention, times):
        n_kv_heads = times * attention.n_kv_heads
        more = GroupedQueryAttention(attention.d_model, attention.n_heads, n_kv_heads)
        state = attention.state_dict()
        state["project.W_Q.weight"] = state["project.W_Q.weight"] * queries
        for name, lay in (("project.W_K.weight", keys), ("project.W_V.weight", values)):
            heads = state[name].unflatten(0, (attention.n_kv_heads, attention.d_head))
            state[name] = lay(heads, times).flatten(0, 1)
        more.load_state_dict(state)
        return more

    return repeated


def test_heads_of_keys_in_a_row_are_right_in_either_precision():
    assert check("repeated", repeater())
    assert check("repeated", lambda attention, times: repeater()(attention, times).double())


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (repeater(keys=in_turns), "W_K is laid out k₁ k₂ k₁ k₂"),
        (repeater(values=in_turns), "W_V is laid out k₁ k₂ k₁ k₂"),
        (repeater(keys=zeros), "W_K does not hold each old head 2 times in a row"),
        (repeater(queries=2.0), "y is another one"),
        (lambda attention, times: attention, "With 1 head of keys, times=2: the new attention"),
        (lambda attention, times: 3, "it gives int, which is no attention"),
        (lambda attention: attention, "Trying it raises TypeError"),
        ("gqa", "Define repeated(attention, times)"),
    ],
)
def test_heads_that_are_repeated_otherwise_are_told_how(answer, said):
    assert said in check("repeated", answer).text


def test_a_map_of_another_size_than_it_says_is_found():
    def repeated(attention, times):
        attention.n_kv_heads *= times
        return attention

    assert "W_K has 2 rows, not 4." in check("repeated", repeated).text


def test_a_function_that_returns_nothing_is_unfilled():
    assert check("repeated", lambda attention, times: None).state == "unfilled"
    assert check("repeated", lambda attention, times: ...).state == "unfilled"


@pytest.mark.parametrize(
    "rows", [ROWS, torch.tensor(ROWS), torch.isin(torch.arange(24), torch.tensor(ROWS))]
)
def test_rows_may_be_listed_or_marked(rows):
    assert check("rows_of_a_rank", rows)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (torch.arange(12), "It takes 12 rows of queries, 0 rows of keys and 0 rows of values;"),
        (ROWS[:8], "8 rows of queries, 0 rows of keys"),
        (ROWS[8:] + ROWS[:8], "in another order"),
        ([*range(8), 18, 19, 22, 23], "not the first half"),
        (None, "one after the other"),
        ([99], "Trying it raises IndexError"),
        ("words", "Trying it raises"),
    ],
)
def test_wrong_rows_are_counted(rows, said):
    assert said in check("rows_of_a_rank", rows).text


def test_shapes_may_be_sizes_of_torch():
    W_Q, W_K, W_O = map(torch.Size, [(1024, 8192), (128, 8192), (8192, 1024)])
    assert check("shapes_of_a_rank", ((8, 1), W_Q, W_K, W_O))
    assert (
        "outputs first" in check("shapes_of_a_rank", ((8, 1), W_Q[::-1], W_K[::-1], W_Q)).text
    )
    assert not check("shapes_of_a_rank", ((8, 1), W_Q))
