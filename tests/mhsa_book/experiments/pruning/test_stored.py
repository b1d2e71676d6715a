"""The stored study of pruning comes out of its units again."""

import re

import pytest

from mhsa_book.experiments.pruning.again import again
from mhsa_book.results import pruning


@pytest.mark.slow
@pytest.mark.nohook  # training takes thrice as long with every shape checked
def test_a_whole_seed_is_cut_to_the_stored_losses_again():
    """Another CPU adds in another order, and what is cut learns: alike, not bit for bit."""
    apart = re.search(r"differ by at most (\S+);", again(pruning.kept(), 2, 18))
    assert apart
    assert float(apart[1]) <= 0.5
