"""One row of scores, and what seven rules for the weights of a head make of it."""

from mhsa_book.widgets.scores_lab.scores_lab import ScoresLab as ScoresLab
