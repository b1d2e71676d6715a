"""A call of every function that draws, some with more than fits easily."""

import torch

from mhsa_book import plots
from mhsa_book.models import serving
from mhsa_book.models.paged import PagedCache, Pool
from mhsa_book.plots.block_table import block_table
from mhsa_book.plots.circuit import Tells, circuit
from mhsa_book.plots.points import points
from mhsa_book.plots.three_attentions import KINDS, three_attentions
from mhsa_book.results.bootstrap import Interval
from mhsa_book.results.curves import Curve
from mhsa_book.results.paired import Measure
from mhsa_book.results.runs import Arm, Runs
from mhsa_book.transformer import EncoderDecoder
from mhsa_lib import masks
from tests.mhsa_book.experiments.pruning.small import made_up
from tests.mhsa_book.models.small import small
from tests.mhsa_book.plots.inputs import TOKENS, traced


def experiment(names):
    curve = Curve((100, 200, 300), (0.3, 0.9, 1.0))
    never = Curve((100, 200, 300), (0.3, 0.3, 0.4))
    arm = Arm({}, 0.01, (0.01,), (100,), {s: never if s else curve for s in range(8)})
    arms, commit = dict.fromkeys(names, arm), "0" * 40
    return Runs("demo", "?", Measure("accuracy"), 1.0, 0.1, arms, tuple(names[:2]), ("x",),
                commit, "2026-01-31")  # fmt: skip


def requests(n, size):
    lm = small()
    pool, ids = Pool(lm, n_pages=24, size=size), lm.ids("the cat sat on the mat and")
    found = {}
    for name in "ABCDE"[:n]:
        found[f"visitor {name}"] = cache = PagedCache(pool)
        start = cache.find_prefix(ids)
        serving.step(lm, [(cache, [*ids[start:], *lm.ids(name.lower())])])
    return found


PICTURES = {
    "block_table": lambda: block_table(requests(3, 4)),
    "block_table, large": lambda: block_table(requests(5, 2)),
    "heat_map": lambda: plots.heat_map(torch.eye(3), TOKENS, title="identity"),
    "heads": lambda: plots.heads(torch.eye(3).expand(5, 3, 3), TOKENS),
    "layers_by_heads": lambda: plots.layers_by_heads(torch.eye(3).expand(6, 12, 3, 3)),
    "pipeline": lambda: plots.pipeline(traced()[1]),
    "pipeline, large": lambda: plots.pipeline(traced(4096, 4096, 32, "meta", batch=(2, 3))[1]),
    "contributions": lambda: plots.contributions(
        torch.randn(12, 6, 4), torch.nn.Linear(48, 48), position=2
    ),
    "mask": lambda: plots.mask(masks.causal & masks.key_padding([5, 3]), 5),
    "mask, words": lambda: plots.mask(
        masks.key_padding([2, 3]), 2, 3, TOKENS, ["one $x_", "two"]
    ),
    "mask, large": lambda: plots.mask(masks.sliding_window(9), 64),
    "wall": lambda: plots.comparison_table(
        {"loops": {"none": 0.0}, "GPT-2": {"none": "always causal"}}
    ),
    "wall, large": lambda: plots.comparison_table(
        {f"implementation {i}": {f"case {j}": 3e-7 for j in range(18)} for i in range(9)}
    ),
    "curves": lambda: plots.curves([1, 2, 4], {"a": [1, 2, 4], "b": [1, 2, 3]}, "n", "s", "xy"),
    "seeds": lambda: plots.seeds(dict.fromkeys(["plain", "grouped"], (0.5, 0.7)), "accuracy"),
    "seeds, large": lambda: plots.seeds(
        {f"attention {i} $x_" + "x" * 60: (0.5,) * 8 + (0.9,) for i in range(7)}, "accuracy"
    ),
    "encoder_decoder": lambda: plots.encoder_decoder(EncoderDecoder(9, 9, 5, n_layers=1)),
    "encoder_decoder, large": lambda: plots.encoder_decoder(
        EncoderDecoder(9, 9, 5, d_model=120, n_heads=120, n_layers=4)
    ),
    "learning": lambda: plots.learning(experiment(["plain", "again"])),
    "learning, large": lambda: plots.learning(
        experiment([f"attention {i} $x_" + "x" * 60 for i in range(7)])
    ),
    "sweep": lambda: plots.sweep({"a": {"b": {1: (0.5, 0.7)}, "c": {4: (0.2,)}}}, "n", "s"),
    "sweep, large": lambda: plots.sweep(
        {
            f"task {i} $x_" + "x" * 60: {
                f"{j} " + "y" * 60: {2**k: (0.1 * k, 1.0) for k in range(6)} for j in range(4)
            }
            for i in range(6)
        },
        "x" * 90,
        "y" * 90,
    ),
    "intervals": lambda: plots.intervals({"a": {"b": {"c": Interval(0.5, 0.2, 0.7)}}}, "share"),
    "intervals, large": lambda: plots.intervals(
        {
            f"way {i} $x_" + "x" * 60: {
                f"set {j} $y_" + "y" * 60: {
                    f"row {k} " + "z" * 60: Interval(0.5, 0.2, 0.7) for k in range(6)
                }
                for j in range(5)
            }
            for i in range(3)
        },
        "x" * 120,
    ),
    "kept_heads": lambda: plots.kept_heads(made_up()),
    "kept_heads, one": lambda: plots.kept_heads(made_up(), ["greedy"]),
    "three_attentions": lambda: three_attentions(
        dict(zip(KINDS, torch.eye(3).expand(3, 3, 3), strict=True)),
        TOKENS,
        TOKENS,
        {KINDS[1]: [1]},
        dict.fromkeys(KINDS, "L0H0"),
    ),
    "path_patch": lambda: plots.path_patch(["L0H0", "L0H1", "L0H2"], "L0H2", "k"),
    "path_patch, large": lambda: plots.path_patch([f"L0H{i}" for i in range(12)], "L0H9", "v"),
    "rotated": lambda: plots.rotated((2, 1), (1, 2), 30, [(3, 1), (6, 4)]),
    "dot_products": lambda: plots.dot_products({"a": (2, 1), "b": (1, 2), "c": (-1, 2)}),
    "language_model": lambda: plots.language_model(small(), "a b"),
    "language_model, large": lambda: plots.language_model(small(), "twenty letters in it"),
    "residual_stream": lambda: plots.residual_stream(small(), "a b", ("a", "b"), [(0, 0)]),
    "residual_stream, large": lambda: plots.residual_stream(
        small(),
        "twenty letters in it",
        ("a", "the"),
        [(layer, head) for layer in range(3) for head in range(4)],
    ),
    "bars": lambda: plots.bars({"W_Q": 144, "loss": -0.25}, "value"),
    "signed": lambda: plots.signed(torch.randn(3, 9, 3), list("abcdefghi"), TOKENS, TOKENS),
    "signed, large": lambda: plots.signed(
        torch.randn(4, 12, 12), TOKENS * 4, TOKENS * 4, ["head 0", "head 1", "head 2", "head 3"]
    ),
    "points": lambda: points(
        {
            "weight": ({"L0H0": (0.1, 2.0), "L0H1": (0.9, -1.0)}, ["L0H1"]),
            "weight on the one $_x": ({"L0H0": (0.5, 2.0)}, ["L0H0"]),
        },
        "writes",
    ),
    "circuit": lambda: circuit(
        {"A": (0.0, 0.0, "repeats $_"), "B": (1.0, 0.0, "copies"), "C": (1.0, 1.0, "against")},
        [Tells("A", "B", "q"), Tells("C", "B", against=True)],
    ),
}
