"""Tokens that have to be found under several keys: plain, grouped and multi-query attention.

Three records stand at the beginning of a sequence, each one token with four features of three
values. Twelve questions follow, one token each: "the record whose feature f is v: what is its
next feature?" A record is looked up by each of its features, and every time something else of
it is handed over. With a head of keys and values per feature that is one small task each; with
a single head the same few numbers of a token have to serve all four. (Three values take two
directions to tell apart, four features eight.)

All models learn equally many numbers: what keys and values save is spent on query heads, or in
the last model on wider heads.
"""

from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor, nn

from mhsa_lib.experiments.training import Batch, Layers, accuracy, fit
from mhsa_lib.variants.grouped import GroupedQueryAttention

NAME = "grouped"
QUESTION = "Does it matter how many keys a token has, when it is looked up four ways?"
MEASURE = "share of right answers; guessing gives 0.33"

FEATURES, VALUES = 4, 3
N_RECORDS = VALUES**FEATURES
BATCH, STEPS = 64, 800


def models() -> Mapping[str, Callable[[], nn.Module]]:
    """Name and builder: query heads, heads of keys and values, and width of a head."""
    return {
        "MHA, 4 heads of 5": partial(_model, 4, 4, 5),
        "GQA, 6 heads on 2, of 5": partial(_model, 6, 2, 5),
        "MQA, 7 heads on 1, of 5": partial(_model, 7, 1, 5),
        "MQA, 4 heads on 1, of 8": partial(_model, 4, 1, 8),
    }


def run(model: str, seed: int) -> float:
    """Train that model with that seed; its share of right answers on other sequences."""
    torch.manual_seed(seed)
    layers = models()[model]()
    fit(layers, draw, STEPS, seed=seed, learning_rate=1e-2)
    return accuracy(layers, draw)


def draw(generator: torch.Generator) -> Batch:
    """Records, then all questions in random order; only the answers are asked for.

    In each feature the records are a permutation of the values, so a question has one answer.

    >>> ids, targets = draw(torch.Generator().manual_seed(0))
    >>> ids.shape, int((targets != -100).sum(dim=-1).unique())
    (torch.Size([64, 15]), 12)
    """
    records = _shuffled(torch.arange(VALUES).expand(BATCH, FEATURES, VALUES), generator)
    places = VALUES ** torch.arange(FEATURES)
    ids = (records * places[:, None]).sum(dim=1)
    question = _shuffled(torch.arange(FEATURES * VALUES).expand(BATCH, -1), generator)
    feature, value = question // VALUES, question % VALUES
    found = records.argsort(dim=-1)  # (sequence, feature, value) -> the record that has it
    sequence = torch.arange(BATCH)[:, None]
    answer = records[sequence, (feature + 1) % FEATURES, found[sequence, feature, value]]
    targets = torch.cat([torch.full_like(ids, -100), answer], dim=1)
    return torch.cat([ids, N_RECORDS + question], dim=1), targets


def _shuffled(values: Tensor, generator: torch.Generator) -> Tensor:
    """The last axis in a random order, another one in every row."""
    order = torch.rand(values.shape, generator=generator).argsort(dim=-1)
    return values.gather(-1, order)


def _model(n_heads: int, n_kv_heads: int, d_head: int) -> Layers:
    attention = GroupedQueryAttention(32, n_heads, n_kv_heads, d_head=d_head)
    n_questions = FEATURES * VALUES
    return Layers([attention], N_RECORDS + n_questions, VALUES + n_questions)
