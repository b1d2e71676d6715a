"""What is run, fixed before it runs: seeds, levels of heads kept, steps, and what is tried."""

from dataclasses import dataclass

from mhsa_book.experiments.translation import learning
from mhsa_book.results.decimals import Number


@dataclass(frozen=True)
class Plan:
    """Numbers of one run.

    Parameters
    ----------
    seeds : those that are reported
    tuned_on : seeds of models on which λ and learning rates are chosen, none of them reported
    levels : heads that are kept
    compared_at : the level of the planned comparisons, for which the rate from scratch is tuned
    lambdas : λ that are tried; for each level the one that leaves open nearest to so many gates
    rates : learning rates of fine-tuning that are tried
    scratch_rates : learning rates of a training from scratch that are tried
    gate_rate : learning rate of the weights while gates are trained
    n_steps : updates of the first training
    n_gate_steps : updates with gates
    n_tuning_steps : updates after heads are gone
    n_draws : orders by chance, for every model
    n_ranked : pairs on which heads are ranked
    n_tested : pairs on which losses are taken

    Raises
    ------
    ValueError : for a seed that is tuned on and reported
    """

    seeds: tuple[int, ...] = tuple(range(8))
    tuned_on: tuple[int, ...] = (100, 101)
    levels: tuple[int, ...] = (18, 12, 8, 4)
    compared_at: int = 8
    lambdas: tuple[Number, ...] = (0.015, 0.03, 0.06, 0.12, 0.24, 0.48)
    rates: tuple[Number, ...] = (0.002, 0.004, 0.008)
    scratch_rates: tuple[Number, ...] = (0.0025, 0.005, 0.01)
    gate_rate: Number = 0.001
    n_steps: int = learning.STEPS
    n_gate_steps: int = 300
    n_tuning_steps: int = 100
    n_draws: int = 8
    n_ranked: int = 256
    n_tested: int = 512

    def __post_init__(self) -> None:
        if both := sorted(set(self.seeds) & set(self.tuned_on)):
            raise ValueError(
                f"seeds {both} are tuned on and reported; tune on others, 100 and 101, say."
            )

    @property
    def n_scratch_steps(self) -> int:
        """Updates of a training from scratch: as many as those of L0 in all."""
        return self.n_steps + self.n_gate_steps + self.n_tuning_steps
