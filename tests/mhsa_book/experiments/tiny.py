"""An experiment that trains in a moment: an embedding learns to repeat, quicker or slower."""

from dataclasses import replace

import torch
from torch import nn

from mhsa_book.experiments.design import ANEW, Experiment, Question, Setup
from mhsa_book.experiments.training import accuracy
from mhsa_book.experiments.trials import trial
from mhsa_book.results.curves import Curve
from mhsa_book.results.paired import Measure


def repeat(generator):
    ids = torch.randint(4, (16, 3), generator=generator)
    return ids, ids


def constant(generator):
    ids = torch.randint(4, (16, 3), generator=generator)
    return ids, torch.zeros_like(ids)


def table():
    return nn.Embedding(4, 4)


COPY = Setup(table, repeat, {"task": "repeat"})
ZERO = Setup(table, constant, {"task": "constant"})
TINY = Experiment(
    "tiny",
    "Is repeating harder than a constant?",
    Measure("accuracy"),
    accuracy,
    1.0,
    0.02,
    {"copy": COPY, "constant": ZERO, "copy again": replace(COPY, anew=ANEW)},
    ("copy", "copy again"),
    (
        Question("copy", "constant", "steps"),
        Question("copy", "constant", margin=0.01),
    ),
    ("A constant is learned first; both are learned.",),
    n_steps=320,
    every=8,
    rates=(0.001, 0.1),
    warm=10,
)


def train(key):
    return trial(TINY, *key)


def no_training(key):
    """Curves that only depend on the key, and stop the test if a second round trains."""
    _, rate, _ = key
    return Curve(tuple(range(1, 41)), tuple(min(1.0, rate * step) for step in range(1, 41)))
