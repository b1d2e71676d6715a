"""Mistakes in `mhsa_book/plots`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "encoder_decoder: the memory's keys and values go to self-attention",
        "plots/transformer_boxes.py",
        'if kind == "cross_attention":',
        'if kind == "masked":',
        "plots/transformer_boxes",
    ),
    Mutant(
        "plot: a roof without a slope",
        "plots/roof.py",
        "limits.attainable(intensity, *rates) for",
        "rates.peak for",
        "plots/roof",
    ),
    Mutant(
        "path patch: the other text is read by the keys whatever the wire",
        "plots/paths.py",
        "_patch(ax, patched, above, places[wire])",
        '_patch(ax, patched, above, places["k"])',
        "plots/paths",
    ),
    Mutant(
        "sweep: the line goes through the best seed",
        "plots/sweep.py",
        "middles = [mean(values) for values in swept.values()]",
        "middles = [max(values) for values in swept.values()]",
        "plots/sweep",
    ),
    Mutant(
        "sweep: a series has the colour of its place in the panel",
        "plots/sweep.py",
        "i = names.index(name)",
        "i = [*panel].index(name)",
        "plots/sweep",
    ),
]
