"""Train one stored curve again, to see whether what is stored comes out."""

from mhsa_book.experiments.listing import find
from mhsa_book.experiments.trials import trial
from mhsa_book.results import run_files


def again(name: str, arm: str, seed: int, n_steps: int = 0) -> float:
    """How far a curve, trained again, lies from what is stored of it, at most; 0: bit for bit.

    Parameters
    ----------
    name : of a stored experiment
    arm, seed : which curve
    n_steps : from the beginning; all when 0

    Raises
    ------
    ValueError : for an experiment, an arm or a seed that is not stored, and for steps that end
        before the first evaluation

    Examples
    --------
    >>> again("overlapped", "4 heads of 3", 77)
    Traceback (most recent call last):
    ...
    ValueError: seed=77 is not stored; there are: [0, 1, 2, 3, 4, 5, 6, 7].
    """
    experiment, runs = find(name), run_files.kept(name)
    stored = runs.arm(arm)
    if seed not in stored.curves:
        raise ValueError(f"seed={seed} is not stored; there are: {list(runs.seeds)}.")
    if 0 < n_steps < experiment.every:
        raise ValueError(
            f"n_steps={n_steps} ends before the first evaluation; take {experiment.every} or "
            f"more."
        )
    curve = trial(experiment, arm, stored.learning_rate, seed, n_steps)
    both = zip(curve.values, stored.curves[seed].values, strict=False)
    return max(abs(float(a) - float(b)) for a, b in both)
