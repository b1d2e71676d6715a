"""Plain attention against a variant, on a task made for the difference, by one way of running.

An experiment is a module with an ``EXPERIMENT`` (``design``): arms, predictions, and what will
be compared. ``python -m mhsa_book.experiments NAME`` tunes and trains it (``running``, one
``trial`` at a time) and keeps every curve in ``mhsa_book/results/data/runs``; ``report``
says in sentences what came out.
"""

from mhsa_book.experiments.listing import find as find
from mhsa_book.experiments.planned import answers as answers
from mhsa_book.experiments.planned import expected as expected
from mhsa_book.experiments.planned import report as report
from mhsa_book.experiments.repeating import again as again
from mhsa_book.experiments.trials import trial as trial
