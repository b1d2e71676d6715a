"""Heads against width at constant parameters, beside the runs that were published."""

from mhsa_lib.widgets.head_budget.head_budget import HeadBudget as HeadBudget
