"""The stored study of pruning comes out of its units again."""

import re

import pytest

from mhsa_book.experiments import running
from mhsa_book.experiments.pruning.again import again
from mhsa_book.results import pruning


@pytest.mark.slow
@pytest.mark.nohook  # training takes thrice as long with every shape checked
def test_a_whole_seed_is_cut_to_the_stored_losses_again():
    """Bit for bit on one kind of CPU; another adds in another order, and what is cut learns."""
    found, machine = pruning.kept(), running.machine()
    same = all(found.machine[key] == machine[key] for key in ("cpu", "torch"))
    apart = re.search(r"differ by at most (\S+);", again(found, 2, 18))
    assert apart
    assert float(apart[1]) <= (0 if same else 0.5)
