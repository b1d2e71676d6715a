"""Mistakes in `mhsa_book/naive`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "the loops do not obey the mask",
        "naive.py",
        "            if may_look[i][j]\n",
        "",
        "naive",
    ),
    Mutant(
        "the loops scale by d_model",
        "naive.py",
        "                attention.d_head**-0.5,",
        "                attention.d_model**-0.5,",
        "naive",
    ),
    Mutant(
        "the loops take values from x",
        "naive.py",
        "project(context[item].tolist(), attention.project.W_V)",
        "project(x[item].tolist(), attention.project.W_V)",
        "naive",
    ),
    Mutant(
        "the list of heads uses one head's mask for all",
        "naive.py",
        "mask[..., i, :, :]",
        "mask[..., 0, :, :]",
        "naive",
    ),
    Mutant(
        "a blind query of the list of heads is NaN",
        "naive.py",
        "masked_fill(~mask & alive",
        "masked_fill(~mask",
        "naive",
    ),
    Mutant(
        "the list of heads cuts rows where it should cut columns",
        "naive.py",
        "own = slice(head * d_head, (head + 1) * d_head)",
        "own = slice(head, None, W.weight.shape[0] // d_head)",
        "naive",
    ),
    Mutant(
        "the loops do not subtract the largest score",
        "naive.py",
        "math.exp(score - max(scores))",
        "math.exp(score)",
        "naive",
        exhibit="softmax_overflows",
    ),
    Mutant(
        "the loops pass over another scale",
        "naive.py",
        "if scale != attention.d_head**-0.5:",
        "if False:",
        "naive",
    ),
]
