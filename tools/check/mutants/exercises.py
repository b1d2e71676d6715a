"""Mistakes in `mhsa_book/exercises`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "exercises: any shape is right",
        "exercises/compare.py",
        "if found.shape != expected.shape:",
        "if found.ndim != expected.ndim:",
        "exercises/check",
    ),
    Mutant(
        "exercises: an error of the answer stops the notebook",
        "exercises/kinds.py",
        "except Exception as error:  # whatever a reader's code raises is their answer",
        "except ValueError as error:",
        "exercises/check",
    ),
    Mutant(
        "exercises: expected mistakes are not answered by name",
        "exercises/kinds.py",
        "if not difference(answer, value)]",
        "if difference(answer, value)]",
        "exercises/check",
    ),
    Mutant(
        "exercises: one input is enough to be taken for an exhibit",
        "exercises/known_mistakes.py",
        "return all(same(outcome(answer, one), outcome(mistake, two)) for one, two in tried)",
        "return any(same(outcome(answer, one), outcome(mistake, two)) for one, two in tried)",
        "exercises/write_your_own",
    ),
    Mutant(
        "exercises: an exhibit is not named",
        "exercises/known_mistakes.py",
        "        if shown:\n            said.append(_named(shown))\n",
        "",
        "exercises/write_your_own",
    ),
    Mutant(
        "exercises: always the first hint",
        "exercises/helping.py",
        "_next_hint[name] = (nth + 1) % len(HINTS[name])",
        "_next_hint[name] = 0",
        "exercises/write_your_own",
    ),
    Mutant(
        "exercises: a loop over heads counts as quick",
        "exercises/all_heads_at_once.py",
        "if many > few:",
        "if many < few:",
        "exercises/my_attention",
    ),
    Mutant(
        "exercises: the class of a reader gets W_V as it stands in formulas",
        "exercises/my_attention.py",
        '"W_V": W_V.mT',
        '"W_V": W_V',
        "exercises/my_attention",
    ),
    Mutant(
        "exercises: an experiment may accuse the innocent",
        "exercises/black_box.py",
        "if accused != guilty:",
        "if guilty and not accused:",
        "exercises/black_box",
    ),
    Mutant(
        "exercises: the guilty are found with two tokens",
        "exercises/black_box.py",
        "for seq in (2, 3, 4, 6):",
        "for seq in (2,):",
        "exercises/black_box",
    ),
    Mutant(
        "exercises: the page of an exhibit has another anchor",
        "museum/catalogue.py",
        """.lower().replace('_', '-')}""",
        """.replace('_', '-')}""",
        "tools/exhibits",
    ),
]
