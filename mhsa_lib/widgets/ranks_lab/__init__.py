"""One attention layer on several ranks: who holds what, and what is sent."""

from mhsa_lib.widgets.ranks_lab.ranks_lab import RanksLab as RanksLab
