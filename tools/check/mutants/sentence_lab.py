"""Mistakes in `mhsa_lib/widgets/sentence_lab`."""

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
        "widgets/sentence_lab/told.js",
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
        "widgets/sentence_lab/walk.js",
        "({ last, other, meant })",
        "({ last: other, other: last, meant })",
        "widgets/sentence_lab",
    ),
    Mutant(
        "first minute: all squares are as full as q is large",
        "widgets/sentence_lab/strips.js",
        "Math.abs(value) / most[r]",
        "Math.abs(value) / most[0]",
        "widgets/first_minute",
    ),
    Mutant(
        "first minute: a map is transposed",
        "widgets/sentence_lab/maps.js",
        "weights[row][column]",
        "weights[column][row]",
        "widgets/first_minute",
    ),
    Mutant(
        "first minute: concat keeps what a head that is off would bring",
        "widgets/sentence_lab/brought.js",
        "off.includes(h) ? 0 : z[w][i]",
        "z[w][i]",
        "widgets/first_minute",
    ),
    Mutant(
        "first minute: a step goes on with the word that asked last",
        "widgets/sentence_lab/sentence_lab.js",
        "go: (step) => writeAll(model, { step, word: n - 1 })",
        "go: (step) => writeAll(model, { step })",
        "widgets/first_minute",
    ),
    Mutant(
        "first minute: weights are seen before any word has looked",
        "widgets/sentence_lab/sentence_lab.css",
        ":is(.mhsa-weighed, .mhsa-asking, .mhsa-map)",
        ":is(.mhsa-asking, .mhsa-map)",
        "widgets/first_minute",
    ),
    Mutant(
        "first minute: the stills show the sum of all heads where one is off",
        "widgets/sentence_lab/steps.py",
        "on = [h for h in range(len(examples.HEADS)) if h not in off]",
        "on = list(range(len(examples.HEADS)))",
        "widgets/sentence_lab",
    ),
]
