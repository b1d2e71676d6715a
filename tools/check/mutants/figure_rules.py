"""Mistakes in what may come back into a figure from a link or from storage."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "rules: a whole number may be one too large",
        "widgets/rules.py",
        '{"least": least, "most": most, "whole": True}',
        '{"least": least, "most": most + 1, "whole": True}',
        "widgets/rules",
    ),
    Mutant(
        "rules: a mask for one head too many may come back",
        "widgets/mask_lab/mask_lab.py",
        "whole(0, len(self.scores) - 1)",
        "whole(0, len(self.scores))",
        "widgets/rules",
    ),
    Mutant(
        "rules: what was typed travels in a link",
        "widgets/rules.py",
        'rule | {"own": True}',
        "rule",
        "widgets/rules",
    ),
]
