"""One of every live figure, and a mark that asks a test about each."""

import pytest
import torch

from mhsa_book import widgets
from mhsa_lib.variants import GroupedQueryAttention


def followed():
    torch.manual_seed(0)
    return torch.randn(3, 4), GroupedQueryAttention(4, 4, 2)


def power(base, exponent):
    return f"{base} to the power of {exponent} is {base**exponent}"


MAKE = {
    "BugMuseum": widgets.BugMuseum,
    "CacheCalculator": widgets.CacheCalculator,
    "ComposeLab": widgets.ComposeLab,
    "CostLab": widgets.CostLab,
    "HeadBudget": widgets.HeadBudget,
    "HeadExplorer": widgets.HeadExplorer,
    "Interact": lambda: widgets.Interact(power, base=[2, 10], exponent=[1, 2, 3]),
    "LanguageModelLab": widgets.LanguageModelLab,
    "MaskLab": widgets.MaskLab,
    "NineHeads": widgets.NineHeads,
    "OutputSum": widgets.OutputSum,
    "OwnSentence": widgets.OwnSentence,
    "PassStepper": lambda: widgets.PassStepper(*followed()),
    "Predict": lambda: widgets.Predict("What shape is `x`?", torch.zeros(2, 6, 12).shape),
    "RanksLab": widgets.RanksLab,
    "RepeaterLab": widgets.RepeaterLab,
    "ScaleLab": widgets.ScaleLab,
    "ScoresLab": widgets.ScoresLab,
    "SentenceLab": widgets.SentenceLab,
    "ShapeTracer": widgets.ShapeTracer,
    "StageStepper": widgets.StageStepper,
    "TileLab": widgets.TileLab,
    "TranslatorLab": widgets.TranslatorLab,
}
every_figure = pytest.mark.parametrize("name", MAKE)
