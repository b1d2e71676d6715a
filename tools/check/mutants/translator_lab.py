"""Mistakes in `mhsa_book/widgets/translator_lab`, and in how its weights travel."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "translator in the page: scores are not divided by the root of d_head",
        "widgets/translator_lab/model.js",
        " / Math.sqrt(d_head)",
        "",
        "widgets/translator_lab",
    ),
    Mutant(
        "translator in the page: every word of the target stands at the first place",
        "widgets/translator_lab/model.js",
        "ids.at(-1) ?? BOS, ids.length)",
        "ids.at(-1) ?? BOS, 0)",
        "widgets/translator_lab",
    ),
    Mutant(
        "translator in the page: a head that gives its mean gives nothing",
        "widgets/translator_lab/model.js",
        "if (instead[name]) z.set(instead[name]);",
        "if (instead[name]) z.fill(0);",
        "widgets/translator_lab",
    ),
    Mutant(
        "translator in the page: the greeting of the reader is not heard",
        "widgets/translator_lab/model.js",
        "given[ids.length] ?? likeliest",
        "likeliest",
        "widgets/translator_lab",
    ),
    Mutant(
        "translator in the page: the feed-forward part is linear",
        "widgets/translator_lab/rows.js",
        "Math.max(0, value)",
        "value",
        "widgets/translator_lab",
    ),
    Mutant(
        "translator in the page: a norm forgets its shift",
        "widgets/translator_lab/rows.js",
        "* scale[i] + shift[i]",
        "* scale[i]",
        "widgets/translator_lab",
    ),
    Mutant(
        "rules in the page: an ambiguous noun beside a dry verb has its wet sense",
        "widgets/translator_lab/rules.js",
        "verb in dry ? 1 : 0",
        "0",
        "widgets/translator_lab",
    ),
    Mutant(
        "rules in the page: a noun may come twice in a clause",
        "widgets/translator_lab/rules.js",
        "if (first !== second) return",
        "if (first) return",
        "widgets/translator_lab",
    ),
    Mutant(
        "rules in the page: a translation may be too long",
        "widgets/translator_lab/rules.js",
        "if (longest > most)",
        "if (false)",
        "widgets/translator_lab",
    ),
    Mutant(
        "rules of the translator lab: the greeting that was said does not count",
        "widgets/translator_lab/rules.py",
        "if each[0] == first",
        "if False",
        "widgets/translator_lab",
    ),
    Mutant(
        "halves in the page: no number is negative",
        "widgets/shared/halves.js",
        "bits & 0x8000 ? -size : size",
        "size",
        "widgets/translator_lab",
    ),
    Mutant(
        "assets: every part loses its last byte",
        "widgets/assets.py",
        "self.data[at : at + PART]",
        "self.data[at : at + PART - 1]",
        "widgets/translator_lab",
    ),
    Mutant(
        "assets: the size of the files is that of the bytes",
        "widgets/assets.py",
        "sum(len(text) for text in self.scripts.values())",
        "len(self.data)",
        "widgets/translator_lab",
    ),
]
