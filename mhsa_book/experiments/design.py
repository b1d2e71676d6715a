"""What an experiment is before it runs: arms, predictions, and what will be compared.

All of it is written down, and committed, before the first seed is trained: which arms, on which
seeds their learning rates are tuned, how many steps, which pairs of arms are compared in what,
and what is expected. ``running`` trains what is written here, ``results.runs`` keeps it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from torch import Tensor, nn

from mhsa_book.experiments.training import Draw, Loss, of_every_target
from mhsa_book.results.decimals import Number
from mhsa_book.results.paired import Measure
from mhsa_book.results.runs import Setting
from mhsa_lib import checks

ANEW = 1_000_000
"""Added to the seed of everything but the data, for the twin of an arm."""

IN = ("final value", "steps")


@dataclass(frozen=True)
class Setup:
    """One arm, before it is trained.

    Parameters
    ----------
    build : makes the model, from torch's global seed
    draw : makes a batch
    settings : everything that was set, by name, as it will be stored
    extra : added to the loss, given the model; nothing when None
    anew : added to the seed from which the model is made; 0, or ``ANEW`` for a twin
    loss : what is trained; the cross-entropy of the targets when not given
    """

    build: Callable[[], nn.Module]
    draw: Draw
    settings: Mapping[str, Setting]
    extra: Callable[[nn.Module], Tensor] | None = None
    anew: int = 0
    loss: Loss = of_every_target


@dataclass(frozen=True)
class Question:
    """A comparison that was planned: first − second, in the final value or in steps.

    ``margin`` is the largest difference that would not matter, in the unit of the measure or
    in steps, if "the same" may be claimed.
    """

    first: str
    second: str
    about: str = "final value"
    margin: Number | None = None

    def __post_init__(self) -> None:
        if self.about not in IN:
            raise ValueError(f"about={self.about!r} is not measured; ask about one of {IN}.")


@dataclass(frozen=True)
class Experiment:
    """A question, the arms that answer it, and all that is fixed before they run.

    Parameters
    ----------
    name : of its module and of its file
    question : in a sentence
    measure : what the curves show
    score : the measure of a model, on batches of its arm's ``draw`` that are never trained on
    level : what counts as having learned it; ``steps`` asks for 95 % of that
    tolerance : how much a curve may still move on a plateau
    arms : by name
    floor : an arm and its twin, which differ in chance alone
    questions : what will be compared; Holm's correction counts them all
    predictions : what is expected, in sentences
    n_steps : of training, the same for all
    every : steps from one evaluation to the next
    rates : learning rates that are tried for every arm
    tuned_on : seeds on which they are tried
    seeds : those that are reported
    warm : steps over which the learning rate rises; it is constant after that

    Raises
    ------
    ValueError : for a question about an unknown arm, a floor that is none of the arms and its
        twin, steps that are no multiple of ``every``

    Examples
    --------
    >>> from mhsa_book.experiments import training
    >>> same = lambda generator: (torch.zeros(1, 1, dtype=torch.long),) * 2
    >>> import torch
    >>> arm = Setup(lambda: nn.Embedding(3, 3), same, {"rows": 3})
    >>> twin = Setup(arm.build, same, arm.settings, anew=ANEW)
    >>> Experiment("demo", "Does it learn?", Measure("accuracy"), training.accuracy, 1.0, 0.01,
    ...            {"one": arm, "one again": twin}, ("one", "one again"), (), ("It does.",),
    ...            n_steps=40, every=2)
    demo: Does it learn? 2 arms, 8 seeds, 40 steps
    """

    name: str
    question: str
    measure: Measure
    score: Callable[[nn.Module, Draw], float] = field(repr=False)
    level: Number
    tolerance: Number
    arms: Mapping[str, Setup]
    floor: tuple[str, str]
    questions: tuple[Question, ...]
    predictions: tuple[str, ...]
    n_steps: int
    every: int
    rates: tuple[Number, ...] = (0.003, 0.01, 0.03)
    tuned_on: tuple[int, ...] = (100, 101)
    seeds: tuple[int, ...] = tuple(range(8))
    warm: int = 40

    def __post_init__(self) -> None:
        checks.positive(n_steps=self.n_steps, every=self.every, warm=self.warm)
        if self.n_steps % self.every:
            raise ValueError(
                f"n_steps={self.n_steps} is no multiple of every={self.every}; the last step "
                f"is an evaluation."
            )
        asked = {arm for q in self.questions for arm in (q.first, q.second)}
        if unknown := sorted(asked.union(self.floor) - self.arms.keys()):
            there = ", ".join(self.arms)
            raise ValueError(f"no arms are called {unknown}; there are: {there}.")
        first, second = (self.arms[name] for name in self.floor)
        if first.settings != second.settings or (first.anew, second.anew) != (0, ANEW):
            raise ValueError(
                f"floor={self.floor} are not an arm and its twin; give the second the settings "
                f"of the first, and anew=ANEW."
            )

    def __repr__(self) -> str:
        sizes = f"{len(self.arms)} arms, {len(self.seeds)} seeds, {self.n_steps:,} steps"
        return f"{self.name}: {self.question} {sizes}"
