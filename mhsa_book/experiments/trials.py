"""One arm, one seed, one learning rate: train it, and keep its curve.

The learning rate is constant after its rise, since one that falls to 0 flattens every curve.
What is evaluated are weights averaged over about the last hundred steps, each counting 1 % less
than the next: a constant rate shakes the weights, and the average is what they shake around.
"""

from functools import partial
from itertools import islice

import torch
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from mhsa_book.experiments.design import Experiment
from mhsa_book.experiments.training import updates
from mhsa_book.results.curves import Curve
from mhsa_book.results.decimals import Number

DECAY = 0.99
"""What an average keeps of itself at every step."""


def trial(
    experiment: Experiment, arm: str, learning_rate: Number, seed: int, n_steps: int = 0
) -> Curve:
    """Train an arm from a seed; its curve, over all steps or the first ``n_steps``.

    The data depend on ``seed`` alone; the model is made from the seed, or anew for a twin.
    Values are rounded to six decimals. Raises ``ValueError`` for an arm that is not there.
    """
    if arm not in experiment.arms:
        raise ValueError(f"no arm is called {arm!r}; there are: {', '.join(experiment.arms)}.")
    setup = experiment.arms[arm]
    torch.manual_seed(setup.anew + seed)
    model = setup.build().train()
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(DECAY)).eval()
    training = updates(
        model,
        setup.draw,
        seed=seed,
        learning_rate=float(learning_rate),
        schedule=lambda step: min(1.0, (step + 1) / experiment.warm),
        loss=setup.loss,
        extra=None if setup.extra is None else partial(setup.extra, model),
    )
    values = {}
    for step, _ in enumerate(islice(training, n_steps or experiment.n_steps), start=1):
        average.update_parameters(model)
        if step % experiment.every == 0:
            values[step] = round(experiment.score(average, setup.draw), 6)
    return Curve(tuple(values), tuple(values.values()))
