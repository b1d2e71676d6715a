"""Mistakes in `mhsa_lib/examples`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "the worked example takes values from the wrong columns",
        "examples/two_tokens.py",
        "pick[[0, 2, 1, 3]]",
        "pick",
        "examples/two_tokens",
    ),
    Mutant(
        "running example: a quality answers a quality",
        "examples/running_example.py",
        'W_K[_rows("quality"), 0:2] = -ASK',
        'W_K[_rows("quality"), 0:2] = 0',
        "examples/running_example",
    ),
    Mutant(
        "running example: the clock is turned forward",
        "examples/running_example.py",
        "[[cos, -sin], [sin, cos]]",
        "[[cos, sin], [-sin, cos]]",
        "examples/running_example",
    ),
    Mutant(
        "running example: a head writes what another head has found",
        "examples/running_example.py",
        "start=4 * head",
        "start=4 * head + 1",
        "examples/running_example",
    ),
    Mutant(
        "running example: both hands of the clock run alike",
        "examples/words.py",
        "SLOW, FAST = 2 * math.pi / 8, 2 * math.pi * 3 / 8",
        "SLOW, FAST = 2 * math.pi / 8, 2 * math.pi / 8",
        "examples/words",
    ),
]
