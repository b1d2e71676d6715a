"""Heads of a translator are chosen in six ways and removed for good, to see what that costs.

``plan`` says what is run and ``predictions`` what is expected. A head goes by the gates it
learned (``gates``), by one of three rankings or by chance (``orders``); ``removal`` takes it
out, ``cutting`` trains what is left, ``roles`` names the heads one would not like to lose, and
``speed`` times a pass. ``work`` has the units, ``running`` their order, ``budget`` what they
cost, ``verdicts`` and ``report`` what came out.

    python -m mhsa_book.experiments.pruning --plan        predictions and cost, nothing is run
    python -m mhsa_book.experiments.pruning               runs, goes on where it stopped, stores
    python -m mhsa_book.experiments.pruning --again 3 8   seed 3 at 8 heads once more, compared

What is stored is read by ``mhsa_book.results.pruning.kept``.
"""

from mhsa_book.experiments.pruning.listed import listed as listed
from mhsa_book.experiments.pruning.plan import Plan as Plan
from mhsa_book.experiments.pruning.predictions import PREDICTIONS as PREDICTIONS
from mhsa_book.experiments.pruning.predictions import QUESTIONS as QUESTIONS
from mhsa_book.experiments.pruning.removal import removed as removed
from mhsa_book.experiments.pruning.report import answers as answers
from mhsa_book.experiments.pruning.report import losses as losses
from mhsa_book.experiments.pruning.report import report as report
from mhsa_book.experiments.pruning.report import survival as survival
from mhsa_book.experiments.pruning.verdicts import verdicts as verdicts
