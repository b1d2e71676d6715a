"""A small model and a training loop, for one question: does this attention learn this task?

The model takes its attentions as they come, so plain attention and a variant differ in that
part alone.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from mhsa_lib import masks

Batch = tuple[Tensor, Tensor]
"""Ids (batch, seq) and targets (batch, seq); a target of -100 is not asked for."""

Draw = Callable[[torch.Generator], Batch]

Loss = Callable[[nn.Module, Tensor, Tensor], Tensor]
"""Of a model and both tensors of a batch, in nats."""


def of_every_target(model: nn.Module, ids: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy of ``model(ids)`` over the targets that are asked for.

    >>> of_every_target(nn.Embedding.from_pretrained(torch.zeros(5, 5)),
    ...     torch.tensor([[3, 1]]), torch.tensor([[1, -100]])).exp().round()
    tensor(5.)
    """
    return cross_entropy(model(ids).flatten(end_dim=-2), targets.flatten(), ignore_index=-100)


class Layers(nn.Module):
    """Embed, then attention and a feed-forward part per layer, then scores for every token.

    Parameters
    ----------
    attentions : one attention per layer, all of the same ``d_model``
    n_tokens : size of the alphabet
    n_positions : longest sequence; positions are learned
    mask : who may look at whom, in every layer
    d_hidden : width of the feed-forward part; none when 0

    Raises
    ------
    ValueError : without attentions or with different widths; in the call, for a sequence that
        is longer than n_positions

    Examples
    --------
    >>> from mhsa_lib import MultiHeadAttention
    >>> model = Layers([MultiHeadAttention(12, 3)], n_tokens=5, n_positions=8)
    >>> model(torch.zeros(2, 6, dtype=torch.long)).shape
    torch.Size([2, 6, 5])
    """

    def __init__(
        self,
        attentions: Iterable[Any],
        n_tokens: int,
        n_positions: int,
        *,
        mask: Any = masks.causal,
        d_hidden: int = 0,
    ) -> None:
        super().__init__()
        self.attentions = nn.ModuleList(attentions)
        widths: list[Any] = sorted({attention.d_model for attention in self.attentions})
        if len(widths) != 1:
            raise ValueError(
                f"the attentions have d_model {widths}; give at least one, all of one width."
            )
        (d_model,) = widths
        self.tokens = nn.Embedding(n_tokens, d_model)
        self.positions = nn.Embedding(n_positions, d_model)
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in self.attentions)
        self.feed = nn.ModuleList(_feed_forward(d_model, d_hidden) for _ in self.attentions)
        self.last = nn.LayerNorm(d_model)
        self.scores = nn.Linear(d_model, n_tokens)
        self.mask = mask

    def forward(self, ids: Tensor) -> Tensor:
        if ids.shape[-1] > self.positions.num_embeddings:
            raise ValueError(
                f"{ids.shape[-1]} tokens do not fit n_positions="
                f"{self.positions.num_embeddings}; build the model for more."
            )
        stream = self.tokens(ids) + self.positions.weight[: ids.shape[-1]]
        for norm, attention, feed in zip(self.norms, self.attentions, self.feed, strict=True):
            stream = stream + attention(norm(stream), mask=self.mask)
            stream = stream + feed(stream)
        return self.scores(self.last(stream))


def fit(
    model: nn.Module,
    draw: Draw,
    n_steps: int,
    *,
    seed: int,
    learning_rate: float = 3e-3,
    loss: Loss = of_every_target,
    extra: Callable[[], Tensor] | None = None,
) -> list[float]:
    """Train with Adam on fresh batches; the loss of every step.

    ``loss`` is given the model and what ``draw`` gave. ``extra`` is added to it, for example a
    router's balance loss. The batches depend on ``seed`` only; what is random inside the model
    follows torch's global seed. The learning rate rises for a twentieth of the steps and falls
    to 0 after that; gradients are cut at norm 1. The model is left in evaluation mode.

    >>> from mhsa_lib import MultiHeadAttention
    >>> def repeat(generator):
    ...     ids = torch.randint(5, (8, 1), generator=generator).expand(8, 4)
    ...     return ids, ids
    >>> _ = torch.manual_seed(0)
    >>> losses = fit(Layers([MultiHeadAttention(12, 3)], 5, 4), repeat, 80, seed=0)
    >>> losses[-1] < losses[0] / 2
    True
    """
    steps = updates(
        model,
        draw,
        seed=seed,
        learning_rate=learning_rate,
        schedule=rising_and_falling(n_steps),
        loss=loss,
        extra=extra,
    )
    model.train()
    losses = list(islice(steps, n_steps))
    model.eval()
    return losses


def rising_and_falling(n_steps: int) -> Callable[[int], float]:
    """A schedule: up for a twentieth of the steps, and then in a line to 0.

    >>> [round(rising_and_falling(40)(step), 3) for step in (0, 1, 2, 20, 39)]
    [0.5, 0.975, 0.95, 0.5, 0.025]
    """
    warm = max(1, n_steps // 20)
    return lambda step: min((step + 1) / warm, (n_steps - step) / n_steps)


def updates(
    model: nn.Module,
    draw: Draw,
    *,
    seed: int,
    learning_rate: float,
    schedule: Callable[[int], float],
    loss: Loss = of_every_target,
    extra: Callable[[], Tensor] | None = None,
    parameters: Iterable[Any] | None = None,
) -> Iterator[float]:
    """The steps that ``fit`` makes, without end: every ``next`` trains once and gives the loss.

    ``schedule`` gives the factor of the learning rate at a step, counted from 0. ``parameters``
    are trained, all of the model's when not given; as for every optimizer of torch they may be
    groups with a rate ``lr`` of their own. The mode of the model is left as it is.

    >>> from itertools import islice
    >>> same = lambda generator: (torch.zeros(1, 1, dtype=torch.long),) * 2
    >>> model = nn.Embedding(3, 3)
    >>> steps = updates(model, same, seed=0, learning_rate=0.1, schedule=lambda step: 1.0)
    >>> first, *_, last = islice(steps, 50)
    >>> last < first
    True
    """
    generator = torch.Generator().manual_seed(seed)
    trained = model.parameters() if parameters is None else parameters
    optimizer = torch.optim.Adam(trained, learning_rate, betas=(0.9, 0.98))
    rate = torch.optim.lr_scheduler.LambdaLR(optimizer, schedule)
    while True:
        whole = task = loss(model, *draw(generator))
        if extra is not None:
            whole = task + extra()
        optimizer.zero_grad()
        whole.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        rate.step()
        yield task.item()


@torch.no_grad()
def accuracy(model: nn.Module, draw: Draw, *, seed: int = 10_000, n_batches: int = 4) -> float:
    """Share of the asked targets that get the highest score, on batches of another seed.

    Dropout and the like act as the model's mode says; ``fit`` leaves it in evaluation mode.
    Raises ``ValueError`` if no target is asked for.

    >>> def same(generator):
    ...     ids = torch.randint(5, (8, 4), generator=generator)
    ...     return ids, ids
    >>> accuracy(nn.Sequential(nn.Embedding.from_pretrained(torch.eye(5))), same)
    1.0
    """
    generator = torch.Generator().manual_seed(seed)
    right = asked = 0
    for _ in range(n_batches):
        ids, targets = draw(generator)
        wanted = targets != -100
        right += int((model(ids).argmax(dim=-1) == targets)[wanted].sum())
        asked += int(wanted.sum())
    if asked == 0:
        raise ValueError("every target is -100, so nothing is asked for; draw other batches.")
    return right / asked


def n_parameters(model: nn.Module) -> int:
    """Learned numbers of a model; what is shared counts once.

    >>> n_parameters(nn.Linear(3, 4))
    16
    """
    return sum(parameter.numel() for parameter in model.parameters())


def parameters_built_by(build: Callable[[], nn.Module]) -> int:
    """Return how many learned numbers a model has that ``build`` makes.

    The model is made without storage and without drawing numbers, so that a module may ask
    while it is imported.

    >>> parameters_built_by(lambda: nn.Linear(3, 4))
    16
    """
    with torch.device("meta"):
        return n_parameters(build())


def _feed_forward(d_model: int, d_hidden: int) -> nn.Module:
    if d_hidden == 0:
        return _Nothing()
    return nn.Sequential(
        nn.LayerNorm(d_model),
        nn.Linear(d_model, d_hidden),
        nn.GELU(),
        nn.Linear(d_hidden, d_model),
    )


class _Nothing(nn.Module):
    def forward(self, stream: Tensor) -> Tensor:
        return torch.zeros_like(stream)
