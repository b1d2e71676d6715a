"""Tokens that have to be found under several keys: plain, grouped and multi-query attention.

Three records stand at the beginning of a sequence, each one token with four features of three
values. Twelve questions follow, one token each: "the record whose feature f is v: what is its
next feature?" A record is looked up by each of its features, and every time something else of
it is handed over. With a head of keys and values per feature that is one small task each; with
a single head the same few numbers of a token have to serve all four. (Three values take two
directions to tell apart, four features eight.)

Arms of equal parameters spend what keys and values save on query heads, or on wider heads. One
arm has the FLOPs of the plain heads instead, with two query heads more than they.

Before the predictions were written, it was known from four times the first experiment's steps
that plain heads and those on one key come to 1.
"""

from dataclasses import replace

import torch
from torch import Tensor

from mhsa_book import costs
from mhsa_book.experiments.design import ANEW, Experiment, Question, Setup
from mhsa_book.experiments.training import Batch, Layers, accuracy, parameters_built_by
from mhsa_book.results.paired import Measure
from mhsa_lib.variants.grouped import GroupedQueryAttention

D_MODEL, FEATURES, VALUES, BATCH = 32, 4, 3, 64
N_RECORDS, N_QUESTIONS = VALUES**FEATURES, FEATURES * VALUES
N = VALUES + N_QUESTIONS

MHA, GQA, MQA = "MHA, 4 heads of 5", "GQA, 6 heads on 2, of 5", "MQA, 7 heads on 1, of 5"
WIDE = "MQA, 4 heads on 1, of 8"
SAME_FLOPS = "MQA, 6 heads on 1, of 5, equal FLOPs"
TWIN = f"{MHA}, again"


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
    question = _shuffled(torch.arange(N_QUESTIONS).expand(BATCH, -1), generator)
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


def _arm(n_heads: int, n_kv_heads: int, d_head: int) -> Setup:
    def build() -> Layers:
        attention = GroupedQueryAttention(D_MODEL, n_heads, n_kv_heads, d_head=d_head)
        return Layers([attention], N_RECORDS + N_QUESTIONS, N)

    flops = costs.flops(N, D_MODEL, n_heads, n_kv_heads=n_kv_heads, d_head=d_head)
    settings = {
        "n_heads": n_heads,
        "n_kv_heads": n_kv_heads,
        "d_head": d_head,
        "parameters": parameters_built_by(build),
        "attention FLOPs of a sequence": sum(flops.values()),
    }
    return Setup(build, draw, settings)


ARMS = {
    MHA: _arm(4, 4, 5),
    GQA: _arm(6, 2, 5),
    MQA: _arm(7, 1, 5),
    WIDE: _arm(4, 1, 8),
    SAME_FLOPS: _arm(6, 1, 5),
}

EXPERIMENT = Experiment(
    name="grouped",
    question="Does it matter how many keys a token has, when it is looked up four ways?",
    measure=Measure("share of right answers"),
    score=accuracy,
    level=1.0,
    tolerance=0.02,
    arms=ARMS | {TWIN: replace(ARMS[MHA], anew=ANEW)},
    floor=(MHA, TWIN),
    questions=(
        Question(GQA, MHA, "steps"),
        Question(MQA, MHA, "steps"),
        Question(WIDE, MHA, "steps"),
        Question(SAME_FLOPS, MHA, "steps"),
        Question(GQA, MQA, "steps"),
        Question(MQA, MHA, margin=0.02),
    ),
    predictions=(
        "Heads on two keys need no more steps than plain ones.",
        "Heads on one key need more steps than heads on two, and more than plain ones, whether "
        "the savings go into heads or into width, and also at equal FLOPs.",
        "On the plateau all answer everything, the same within 0.02.",
    ),
    n_steps=3200,
    every=80,
)
