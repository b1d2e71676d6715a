"""Mistakes in `mhsa_book/widgets/sentence_lab`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "sentence lab: scores are not divided by the root of d_head",
        "widgets/sentence_lab/attended.js",
        "s / Math.sqrt(d_head)",
        "s",
        "widgets/sentence_lab",
    ),
    Mutant(
        "sentence lab: a head that is off still tells its finding",
        "widgets/sentence_lab/question_and_answer.js",
        "!off.includes(h) &&",
        "",
        "widgets/sentence_lab",
    ),
    Mutant(
        "sentence lab: the answer names the word that is looked at least",
        "widgets/sentence_lab/attended.js",
        "Math.max(...row)",
        "Math.min(...row)",
        "widgets/sentence_lab",
    ),
    Mutant(
        "sentence lab: z is a mean of keys",
        "widgets/sentence_lab/attended.js",
        "matmul(weights, v)",
        "matmul(weights, k)",
        "widgets/sentence_lab",
    ),
    Mutant(
        "first minute: the last word and the other one change places in what a step says",
        "widgets/sentence_lab/guided_steps.js",
        "({ last, other, meant })",
        "({ last: other, other: last, meant })",
        "widgets/sentence_lab",
    ),
    Mutant(
        "first minute: the stills show the sum of all heads where one is off",
        "widgets/sentence_lab/steps.py",
        "on = [h for h in range(len(examples.HEADS)) if h not in off]",
        "on = list(range(len(examples.HEADS)))",
        "widgets/sentence_lab",
    ),
]
