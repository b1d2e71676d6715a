"""An encoder-decoder learns the made-up languages; then its heads are switched off.

``learning`` trains it; ``heads`` names its heads and switches them off; ``worth`` counts what
that costs, ``alignment`` compares maps with the alignment that is known. ``predictions`` was
written before eight of them were trained, ``measured`` has all that was measured then, and
``verdicts`` says what came true.
"""

from mhsa_book.experiments.translation.heads import KINDS as KINDS
from mhsa_book.experiments.translation.heads import Head as Head
from mhsa_book.experiments.translation.heads import by_mean as by_mean
from mhsa_book.experiments.translation.heads import by_resampling as by_resampling
from mhsa_book.experiments.translation.heads import by_zero as by_zero
from mhsa_book.experiments.translation.heads import head_outputs as head_outputs
from mhsa_book.experiments.translation.heads import heads_of as heads_of
from mhsa_book.experiments.translation.heads import without as without
from mhsa_book.experiments.translation.learning import train as train
from mhsa_book.experiments.translation.learning import untrained as untrained
from mhsa_book.experiments.translation.listed import listed as listed
from mhsa_book.experiments.translation.predictions import PREDICTIONS as PREDICTIONS
from mhsa_book.experiments.translation.reading import read as read
from mhsa_book.experiments.translation.verdicts import verdicts as verdicts
from mhsa_book.experiments.translation.worth import ANY as ANY
from mhsa_book.experiments.translation.worth import asked as asked
from mhsa_book.experiments.translation.worth import by_task as by_task
from mhsa_book.experiments.translation.worth import cost as cost
from mhsa_book.experiments.translation.worth import nats as nats
