"""Mistakes in `mhsa_book/widgets/compose_lab` and `mhsa_book/widgets/scores_lab`."""

from tools.check.mutant import Mutant

COMPOSING, RULES = "widgets/compose_lab/composing.js", "widgets/scores_lab/rules.js"
MUTANTS = [
    Mutant(
        "compose lab: heads forget their own numbers",
        COMPOSING,
        "(i === j ? 1 : 0) + added(i, j)",
        "added(i, j)",
        "widgets/compose_lab",
    ),
    Mutant(
        "compose lab: w1 writes and w2 reads",
        COMPOSING,
        "read[i] * w2[r][j]",
        "read[j] * w2[r][i]",
        "widgets/compose_lab",
    ),
    Mutant(
        "compose lab: the key's maps are those of the query",
        COMPOSING,
        "lowRank(maps.key_w1[k], maps.key_w2[k])",
        "lowRank(maps.key_w1[q], maps.key_w2[q])",
        "widgets/compose_lab",
    ),
    Mutant(
        "compose lab: the key's gate is left out",
        COMPOSING,
        "by_query[i] + by_key[i]",
        "by_query[i]",
        "widgets/compose_lab",
    ),
    Mutant(
        "compose lab: the map is turned round",
        COMPOSING,
        "number * map[i][j]",
        "number * map[j][i]",
        "widgets/compose_lab",
    ),
    Mutant(
        "compose lab: Python weakens no gate",
        "widgets/compose_lab/compose_lab.py",
        "self.gates * gate.mix",
        "gate.mix",
        "widgets/compose_lab",
    ),
    Mutant(
        "scores lab: QK-norm hears the factor",
        RULES,
        "norm: softmaxRow(scores, there)",
        "norm: softmaxRow(loud, there)",
        "widgets/scores_lab",
    ),
    Mutant(
        "scores lab: QK-clip raises small scores too",
        RULES,
        "largest > TAU ? TAU / largest : 1",
        "TAU / largest",
        "widgets/scores_lab",
    ),
    Mutant(
        "scores lab: a removed key sets the clip",
        RULES,
        "loud.filter((_, k) => there[k])",
        "loud",
        "widgets/scores_lab",
    ),
    Mutant(
        "scores lab: the sigmoid has no bias",
        RULES,
        "sigmoid(score + bias)",
        "sigmoid(score)",
        "widgets/scores_lab",
    ),
    Mutant(
        "scores lab: the sink counts as a key of its row",
        RULES,
        "[...there, true]",
        "[...there, false]",
        "widgets/scores_lab",
    ),
    Mutant(
        "scores lab: a closed gate hands over all",
        RULES,
        '(rule === "gate" ? gate : 1) *',
        "1 *",
        "widgets/scores_lab",
    ),
    Mutant(
        "scores lab: Python forgets the factor in the sigmoid",
        "widgets/scores_lab/rules.py",
        "(loud - math.log",
        "(scores - math.log",
        "widgets/scores_lab",
    ),
    Mutant(
        "a dial with numbers below zero stands elsewhere",
        "widgets/shared/stops.js",
        "positive ? Math.log(number / wish) : number - wish",
        "Math.log(number / wish)",
        "widgets/stops",
    ),
]
