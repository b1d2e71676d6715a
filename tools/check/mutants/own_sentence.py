"""Mistakes in `mhsa_book/widgets/own_sentence`: the model in the page, and what it shows."""

from tools.check.mutant import Mutant

ENGINE, PARTS = "widgets/own_sentence/engine", "widgets/own_sentence/parts"
TOKENS, MODEL = "widgets/own_sentence/tokens", "widgets/own_sentence/engine"

MUTANTS = [
    Mutant(
        "tokens in the page: capitals before accents, so that ς stays",
        f"{ENGINE}/tokenizer.js",
        'return [...plain].map((one) => one.toLowerCase()).join("");',
        "return plain.toLowerCase();",
        TOKENS,
    ),
    Mutant(
        "tokens in the page: a word of 101 letters is read",
        f"{ENGINE}/tokenizer.js",
        "letters.length > LONGEST_WORD",
        "letters.length > LONGEST_WORD + 1",
        TOKENS,
    ),
    Mutant(
        "tokens in the page: soft hyphens stay",
        f"{ENGINE}/tokenizer.js",
        "\\p{Cc}\\p{Cf}\\p{Co}",
        "\\p{Cc}\\p{Co}",
        TOKENS,
    ),
    Mutant(
        "tokens in the page: the end is cut off with the rest",
        f"{ENGINE}/tokenizer.js",
        "all.slice(0, most - 2)",
        "all.slice(0, most - 1)",
        TOKENS,
    ),
    Mutant(
        "model in the page: scores are not divided by the root of d_head",
        f"{ENGINE}/model.js",
        "score / Math.sqrt(d_head)",
        "score",
        MODEL,
    ),
    Mutant(
        "model in the page: no token types",
        f"{ENGINE}/model.js",
        "[words(id), positions(i), types(0)]",
        "[words(id), positions(i)]",
        MODEL,
    ),
    Mutant(
        "model in the page: GELU by its usual approximation",
        f"{ENGINE}/rows.js",
        "0.5 * x[i] * (1 + erf(x[i] * Math.SQRT1_2))",
        "x[i] / (1 + Math.exp(-1.702 * x[i]))",
        MODEL,
    ),
    Mutant(
        "model in the page: the variance is taken without eps",
        f"{ENGINE}/rows.js",
        "squares / width + eps",
        "squares / (width - 1)",
        MODEL,
    ),
    Mutant(
        "model in the page: a head that is off stays off in the pass that is kept",
        f"{ENGINE}/model.js",
        "[z.slice(), width / isOff.length]",
        "[z, width / isOff.length]",
        MODEL,
    ),
    Mutant(
        "model in the page: one layer too many is taken from the earlier pass",
        f"{ENGINE}/model.js",
        "const from = Math.floor(Math.min(...changed) / heads);",
        "const from = Math.min(5, Math.floor(Math.min(...changed) / heads) + 1);",
        MODEL,
    ),
    Mutant(
        "model in the page: the sentence vector is that of the first token",
        f"{ENGINE}/reader.js",
        "cosine: cosine(a.vector, b.vector), pairs",
        "cosine: cosine(token(a, 0), token(b, 0)), pairs",
        MODEL,
    ),
    Mutant(
        "numbers in the page: the high bits of the second number are lost",
        f"{ENGINE}/unpack.js",
        "(middle >> 4) + (high << 4)",
        "(middle >> 4)",
        MODEL,
    ),
    Mutant(
        "own sentence: one scale for a whole matrix",
        "widgets/own_sentence/quantise.py",
        "scale = matrix.abs().amax(dim=1, keepdim=True) / LARGEST\n    whole",
        "scale = matrix.abs().max().expand(len(matrix), 1) / LARGEST / 16\n    whole",
        MODEL,
    ),
    Mutant(
        "own sentence: effects are sorted by their sign",
        "widgets/own_sentence/effects.js",
        "Math.abs(b.change) - Math.abs(a.change)",
        "b.change - a.change",
        PARTS,
    ),
]
