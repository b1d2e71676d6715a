"""Heads against width at constant parameters, beside layers that were trained."""

from mhsa_book.widgets.head_budget.head_budget import HeadBudget as HeadBudget
from mhsa_book.widgets.head_budget.rings import PUBLISHED as PUBLISHED
from mhsa_book.widgets.head_budget.rings import Rings as Rings
