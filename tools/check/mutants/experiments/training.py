"""Mistakes in plain experiments, and in their training."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "training: targets that are not asked for count as wrong",
        "experiments/training.py",
        "asked += int(wanted.sum())",
        "asked += wanted.numel()",
        "experiments/training",
    ),
    Mutant(
        "experiment grouped: the answer is the feature asked for",
        "experiments/grouped.py",
        "(feature + 1) % FEATURES",
        "feature",
        "experiments/grouped",
    ),
    Mutant(
        "experiment overlapped: the bits of the table's order, not of the keys'",
        "experiments/overlapped.py",
        "table = 2 * order + bits.gather(1, order)",
        "table = 2 * order + bits",
        "experiments/overlapped",
    ),
    Mutant(
        "experiment induction: a key is mixed with the one after it",
        "experiments/induction.py",
        "[k_heads[..., :1, :], k_heads[..., :-1, :]]",
        "[k_heads[..., 1:, :], k_heads[..., -1:, :]]",
        "experiments/induction",
    ),
    Mutant(
        "experiment induction: what nothing announces is asked for",
        "experiments/induction.py",
        "masked_fill(~drawn.known, -100)",
        "masked_fill(drawn.known & False, -100)",
        "experiments/induction",
    ),
    Mutant(
        "experiments: a twin is its arm once more",
        "experiments/trials.py",
        "torch.manual_seed(setup.anew + seed)",
        "torch.manual_seed(seed)",
        "experiments/running",
    ),
    Mutant(
        "experiments: the weights of the last step are evaluated, not their average",
        "experiments/trials.py",
        "experiment.score(average, setup.draw)",
        "experiment.score(model, setup.draw)",
        "experiments/design",
    ),
    Mutant(
        "experiments: the learning rate falls",
        "experiments/trials.py",
        "schedule=lambda step: min(1.0, (step + 1) / experiment.warm),",
        "schedule=lambda step: 1.0 / (step + 1),",
        "experiments/design",
    ),
    Mutant(
        "experiments: the worst rate is taken",
        "experiments/running.py",
        "return max(experiment.rates, key=mean)",
        "return min(experiment.rates, key=mean)",
        "experiments/running",
    ),
    Mutant(
        "experiments: arms are tuned on the seeds that are reported",
        "experiments/running.py",
        "product(tuned, experiment.rates, experiment.tuned_on)",
        "product(tuned, experiment.rates, experiment.seeds)",
        "experiments/running",
    ),
    Mutant(
        "experiments: everything is trained again",
        "experiments/running.py",
        "left = [key for key in keys if not _file(folder, key).is_file()]",
        "left = keys",
        "experiments/running",
    ),
    Mutant(
        "experiments: predictions may have been changed since",
        "experiments/running.py",
        'found = "" if changed else _git(',
        "found = _git(",
        "experiments/running",
    ),
    Mutant(
        "experiments: a question without an answer does not count",
        "experiments/planned.py",
        "unanswered=len(found) - len(claims)",
        "unanswered=0",
        "experiments/running",
    ),
    Mutant(
        "experiments: a curve that still moves has a final value",
        "experiments/planned.py",
        "if moving := _moving(pair, runs):",
        "if not (moving := _moving(pair, runs)) and moving:",
        "experiments/running",
    ),
]
