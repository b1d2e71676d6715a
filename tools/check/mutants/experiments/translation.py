"""Mistakes in `mhsa_book/experiments/translation`, and in what is stored of it."""

from tools.check.mutant import Mutant

HEADS, WORTH, ALIGNMENT = (
    f"experiments/translation/{name}.py" for name in ("heads", "worth", "alignment")
)
MUTANTS = [
    Mutant(
        "translation: the head of every layer is off",
        HEADS,
        "changed[..., head, :, :] = change(z[..., head, :, :])",
        "changed[...] = change(z)",
        "experiments/translation/heads",
    ),
    Mutant(
        "translation: padding counts in the mean of a head",
        HEADS,
        '"decoder": wanted != PAD}',
        '"decoder": wanted >= PAD}',
        "experiments/translation/heads",
    ),
    Mutant(
        "translation: all heads draw the same tokens",
        HEADS,
        "1000 * seed + order[head]",
        "1000 * seed",
        "experiments/translation/heads",
    ),
    Mutant(
        "translation: the bootstrap draws words instead of sentences",
        WORTH,
        "(more * where).sum(dim=1), where.sum(dim=1)",
        "(more * where).flatten(), where.flatten()",
        "experiments/translation/worth",
    ),
    Mutant(
        "translation: a sentence counts once, however many words it has",
        "results/bootstrap.py",
        "means = sums[drawn].sum(dim=1) / counts[drawn].sum(dim=1)",
        "means = (sums / counts)[drawn].mean(dim=1)",
        "results/bootstrap experiments/translation/worth",
    ),
    Mutant(
        "translation: any task leaves one out",
        WORTH,
        "tasks = language.TASKS if task == ANY else (task,)",
        "tasks = [*language.TASKS][:-1] if task == ANY else (task,)",
        "experiments/translation/worth",
    ),
    Mutant(
        "alignment: the greeting counts as missed",
        ALIGNMENT,
        "(~hit[..., known])",
        "(~hit).flatten(-2)",
        "experiments/translation/alignment",
    ),
    Mutant(
        "alignment: lengths are added and not vectors",
        ALIGNMENT,
        'torch.einsum("bhqk,bhkd->bqkd", layer, brought).norm(dim=-1)',
        'torch.einsum("bhqk,bhk->bqk", layer, brought.norm(dim=-1))',
        "experiments/translation/alignment",
    ),
    Mutant(
        "alignment: hiding a row shows the padding again",
        ALIGNMENT,
        "shown = others if mask is None else mask & others",
        "shown = others",
        "experiments/translation/alignment",
    ),
    Mutant(
        "alignment: the guess from positions does not know the length",
        ALIGNMENT,
        "(len(pair.source), place, at)\n        for pair",
        "(4, place, at)\n        for pair",
        "experiments/translation/alignment",
    ),
    Mutant(
        "translators: a pair is looked up in the order in which it is given",
        "results/translators.py",
        "sorted((one, other), key=self.heads.index)",
        "(one, other)",
        "results/translators",
    ),
    Mutant(
        "translators: the low end of the interval is given as the cost",
        "results/translators.py",
        '["off"][way][name][task][0]',
        '["off"][way][name][task][1]',
        "results/translators",
    ),
]
