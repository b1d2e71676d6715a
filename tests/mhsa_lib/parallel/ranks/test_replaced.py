"""Gradients are added up in the graph, so it does not matter which objects parameters are."""

import pytest

from tests.helpers.on_ranks_replaced import DIVIDED, WAYS


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", DIVIDED)
def test_ranks_learn_from_all_of_them_after_parameters_were_replaced(ranks, kind, way):
    for rank in ranks:
        differences = rank["replaced"][f"{kind}, {way}"]
        assert len(differences) > 5
        assert max(differences.values()) < 1e-10


def test_a_cache_around_exchanged_heads_is_refused(ranks):
    """Every rank would append its own block, in an order that is not that of the text."""
    for rank in ranks:
        assert rank["cached"].startswith("ExchangedAttend cannot be combined with a cache")
