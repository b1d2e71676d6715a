"""One attention layer on several ranks: who holds what, and what is sent."""

from mhsa_book.widgets.ranks_lab.ranks_lab import RanksLab as RanksLab
