"""A mistake in what is to be drawn is named with a repair, and nothing is drawn."""

import matplotlib.pyplot as plt
import pytest
import torch

from mhsa_book import plots
from mhsa_lib import masks
from tests.mhsa_book.models.small import small
from tests.mhsa_book.plots.inputs import TOKENS, traced

WRONG = {
    "batch": (lambda: plots.heat_map(torch.eye(3).expand(2, 3, 3), TOKENS),
              r"weights \(2, 3, 3\) are not \(query, key\); choose, for example weights\[0\]"),
    "axis": (lambda: plots.heads(torch.eye(3), TOKENS),
             r"weights \(3, 3\) are not \(head, query, key\); an axis is missing"),
    "empty": (lambda: plots.heat_map(torch.zeros(0, 3), []), r"weights \(0, 3\) are empty"),
    "tokens": (lambda: plots.heat_map(torch.eye(3), ["a", "b"]),
               r"2 tokens for 3 query positions.*give one token for each"),
    "keys": (lambda: plots.heat_map(torch.rand(2, 3), ["a", "b"]),
             r"2 tokens for 3 key positions.*keys="),
    "titles": (lambda: plots.heads(torch.eye(3).expand(2, 3, 3), TOKENS, titles=["one"]),
               r"titles has 1 entries for 2 heads"),
    "scores": (lambda: plots.heat_map(5 * torch.eye(3), TOKENS),
               r"outside \[0, 1\]: 5 is among them.*softmax"),
    "infinite": (lambda: plots.heat_map(torch.full((1, 1), float("inf")), ["a"]), "outside"),
    "no trace": (lambda: plots.pipeline(type(traced()[1])("MultiHeadAttention")),
                 "run a forward pass"),
    "no wire": (
        lambda: plots.pipeline(traced()[1], here=["zz"]),
        r"here=\['zz'\] are no wires",
    ),
    "z": (lambda: plots.contributions(torch.ones(2, 3, 6, 4), torch.nn.Linear(12, 12)),
          r"z \(2, 3, 6, 4\) is not \(head, query, d_head\); choose a sequence"),
    "W_O": (lambda: plots.contributions(torch.ones(3, 6, 4), torch.nn.Linear(10, 12)),
            r"3 heads of 4 columns, 12 in all, but W_O takes 10"),
    "position": (lambda: plots.contributions(torch.ones(3, 6, 4), torch.nn.Linear(12, 12), 6),
                 r"position=6 does not exist; there are 6 queries"),
    "coordinate": (lambda: plots.contributions(torch.ones(3, 6, 4), torch.nn.Linear(12, 8),
                   coordinates=[8]), r"coordinates \[8\] must lie in 0 to 7"),
    "columns": (lambda: plots.contributions(torch.ones(3, 6, 4), torch.nn.Linear(12, 8),
                columns="ab"), "has 8 columns but there are 2 names"),
    "mask sizes": (lambda: plots.mask(torch.ones(3, 3, dtype=torch.bool), 4),
                   r"mask \(3, 3\) is not .* n_query=4, n_key=4"),
    "mask tokens": (
        lambda: plots.mask(masks.causal, 2, tokens=TOKENS),
        "entries for 2",
    ),
    "mask titles": (
        lambda: plots.mask(masks.causal, 2, titles=TOKENS),
        "entries for 1",
    ),
    "no size": (lambda: plots.mask(masks.causal, 0), "n_query=0 is not a size"),
    "many masks": (lambda: plots.mask(torch.ones(9, 2, 2, dtype=torch.bool), 2), "9 pictures"),
    "no results": (lambda: plots.comparison_table({}), "results is empty"),
    "ragged": (
        lambda: plots.comparison_table({"a": {"x": 0.0}, "b": {"y": 0.0}}),
        r"'b' has the cases",
    ),
    "tolerance": (
        lambda: plots.comparison_table({"a": {"x": 0.0}}, {"y": 1.0}),
        r"no entry for \['x'\]",
    ),
    "lengths": (lambda: plots.curves([1, 2], {"a": [1]}, "x", "y"), "1 values for 2"),
    "log": (lambda: plots.curves([1], {"a": [1]}, "x", "y", log="z"), "log='z' names no axes"),
    "no curve": (lambda: plots.curves([1], {}, "x", "y"), "ys is empty"),
    "no head": (lambda: plots.path_patch(["L0H0"], "L0H1", "k"),
                r"patched='L0H1' and wire='k' name no path; choose one of \['L0H0'\]"),
    "no such wire": (lambda: plots.path_patch(["L0H0"], "L0H0", "z"),
                     r"wire='z' name no path; .* and one of \['q', 'k', 'v'\]"),
    "arrows in space": (lambda: plots.dot_products({"a": (1, 2), "b": (1, 2, 3)}),
                        r"rows \{'b': \[1, 2, 3\]\} cannot be drawn .* two numbers each"),
    "nothing to rotate": (lambda: plots.rotated((1, 2), (2, 1), 30, []), "two rows of two"),
    "no direction": (lambda: plots.dot_products({"a": (0, 0)}), "first row that is not zero"),
    "many tokens": (lambda: plots.language_model(small(), "x" * 21),
                    "text has 21 tokens, and at most 20 fit"),
    "many rows": (lambda: plots.residual_stream(small(), "x" * 21, ("a", "b"), []),
                  "text has 21 tokens, and at most 20 fit"),
    "no pair": (lambda: plots.residual_stream(small(), "x", ("a",), []), "pair has 1 tokens"),
    "no bar": (lambda: plots.bars({}, "y"), "values is empty"),
    "signed names": (lambda: plots.signed(torch.ones(1, 2, 2), ["a"], ["x", "y"], ["t"]),
                     r"tables \(1, 2, 2\) are not .* = \(1, 1, 2\); name every table"),
    "signed NaN": (lambda: plots.signed(torch.tensor([[[torch.nan]]]), ["a"], ["x"], ["t"]),
                   "hold a NaN or an infinity; draw finite numbers"),
}  # fmt: skip


@pytest.mark.bothways
@pytest.mark.parametrize(("draw", "message"), WRONG.values(), ids=WRONG)
def test_a_mistake_names_the_sizes_and_a_repair_and_draws_nothing(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()
    assert not plt.get_fignums()
