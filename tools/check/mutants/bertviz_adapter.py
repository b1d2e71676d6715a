"""Mistakes in `mhsa_book/bertviz`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "neuron view: the queries stand where the keys belong",
        "bertviz_adapter/neuron.py",
        '"keys": rounded(k),',
        '"keys": rounded(q),',
        "bertviz_adapter/neuron",
    ),
    Mutant(
        "neuron view: weights of unscaled scores",
        "bertviz_adapter/neuron.py",
        "F.score(q, k, scale)",
        "F.score(q, k, 1.0)",
        "bertviz_adapter/neuron",
    ),
    Mutant(
        "neuron view: a causal mask is drawn as if keys ahead were seen",
        "bertviz_adapter/neuron.py",
        "bool(allowed.triu(1).any())",
        "bool(allowed.tril(0).any())",
        "bertviz_adapter/neuron",
    ),
    Mutant(
        "view: a file that could not be written replaces the old one",
        "bertviz_adapter/view.py",
        'part = path.with_name(f".{path.name}.part")',
        "part = path",
        "bertviz_adapter/save",
    ),
    Mutant(
        "view: the id forgets the kind",
        "bertviz_adapter/view.py",
        "json.dumps([kind, template.params,",
        'json.dumps(["", template.params["attention"],',
        "bertviz_adapter/views",
    ),
    Mutant(
        "view: < in a token ends the script",
        "bertviz_adapter/page.py",
        'for c in "<>&"})',
        'for c in ">&"})',
        "bertviz_adapter/views",
    ),
]
