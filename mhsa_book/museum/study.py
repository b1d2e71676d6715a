"""What every exhibit does to training: the shared task, learned with the mistake in place."""

import base64
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass

import torch
from torch.nn.functional import cross_entropy

from mhsa_book.museum import problems
from mhsa_book.museum.catalogue import Exhibit
from mhsa_book.museum.parts import RIGHT, Parts, Setting
from mhsa_book.museum.task import PERIODS, SEQ, Reader, Texts, texts

STEPS, RATE, EVERY = 600, 5e-3, 20
"""Of a training, and over how many steps a stored loss is the mean."""

SEEDS = (0, 1, 2)
NEVER_CALLED = {"memory_mask", "documents_mask", "crop", "asked"}
"""Parts that the shared task never calls: with a wrong one a training is the right one's."""
N_TEXTS = 256
"""On which a trained reader is tested."""


@dataclass(frozen=True)
class Learned:
    """One training with one seed.

    Parameters
    ----------
    losses : mean of every twenty steps, in nats; empty if it raised an error
    read : share of the tokens that can be known, said with all before them given
    written : the same, with a cache, its own words, beams, and another text before
    borrowed : as ``read``, with weights that were trained by the right attention
    error : what training or testing raised, "" if nothing
    """

    losses: list[float]
    read: float
    written: float
    borrowed: float
    error: str


def train(parts: Parts, setting: Setting, seed: int, n_steps: int = STEPS) -> Reader:
    """A reader that has learned the task, its losses in ``reader.losses``."""
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    reader = Reader(parts, setting, generator)
    optimizer = torch.optim.Adam(reader.parameters(), lr=RATE)
    for step in range(n_steps):
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1, (step + 1) / 30) * (1 - step / n_steps)
        found = texts(generator)
        given, wanted = parts.targets(found.ids)
        scores, known = reader(given)[0], found.known[:, 1:]
        loss = cross_entropy(scores[known], wanted[known])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        reader.losses.append(loss.item())
    return reader.eval()


def read(reader: Reader) -> float:
    """Share that is right with all tokens before given, on texts that were not trained on."""
    return reader.read(texts(torch.Generator().manual_seed(1000), N_TEXTS))


def written(reader: Reader) -> float:
    """Share that is right when the reader goes on by itself, for both periods alike."""
    shares = []
    for i, period in enumerate(PERIODS):
        found = texts(torch.Generator().manual_seed(1001 + i), 4 * N_TEXTS, SEQ + 1)
        kept = (found.ids[:, 0] == 1 + i).nonzero()[: N_TEXTS // 2, 0]
        shares.append(reader.write(Texts(found.ids[kept], found.known[kept]), period + 1))
    return sum(shares) / len(shares)


def learned(parts: Parts, setting: Setting, seed: int, right: Reader) -> Learned:
    """Train with these parts, and test; ``right`` is the reader whose weights are borrowed."""
    errors: list[str] = []

    def tried(reader: Reader, test: Callable[[Reader], float]) -> float:
        try:
            return test(reader)
        except (RuntimeError, IndexError) as error:
            errors.append(_first_line(error))
            return math.nan

    own = right.parts
    right.parts = parts
    borrowed = tried(right, read)
    right.parts = own
    try:
        reader = train(parts, setting, seed)
    except RuntimeError as error:
        return Learned([], math.nan, math.nan, borrowed, _first_line(error))
    said, wrote = tried(reader, read), tried(reader, written)
    means = torch.tensor(reader.losses).view(-1, EVERY).mean(dim=1)
    losses = [round(loss, 4) for loss in means.tolist()]
    return Learned(losses, said, wrote, borrowed, "; ".join(dict.fromkeys(errors)))


TEXT = (1, 3, 4, 5, 3, 4, 5, 3, 4, 5)
"""The text of the maps: every three, a b c, and again."""

SHOWN_HEADS = 4


def maps(right: Reader, exhibit: Exhibit | None = None) -> str | None:
    """Weights of four heads on ``TEXT``, a byte each, NaN as 255; the right reader's numbers.

    An exhibit that shows word by word is shown so. None where it raises an error.
    """
    own, ids = right.parts, torch.tensor([TEXT])
    steps = exhibit is not None and exhibit.problem is problems.word_by_word
    try:
        right.parts = own if exhibit is None else exhibit.all_parts
        weights = right.map_of(ids, step_by_step=steps)[0, :SHOWN_HEADS]
    except RuntimeError:
        return None
    finally:
        right.parts = own
    levels = (weights.clamp(0, 1) * 254).round().nan_to_num(255).to(torch.uint8)
    return base64.b64encode(levels.numpy().tobytes()).decode()


def baseline(setting: Setting, seed: int) -> tuple[Reader, Learned]:
    """The right attention, trained in this setting."""
    reader = train(RIGHT, setting, seed)
    means = torch.tensor(reader.losses).view(-1, EVERY).mean(dim=1).tolist()
    share = read(reader)
    found = Learned([round(m, 4) for m in means], share, written(reader), share, "")
    return reader, found


def as_record(each: Learned) -> dict[str, object]:
    """For a file: shares to four digits, NaN as null."""
    values = asdict(each)
    for name in ("read", "written", "borrowed"):
        share = values[name]
        values[name] = None if math.isnan(share) else round(share, 4)
    values["losses"] = [None if math.isnan(loss) else loss for loss in values["losses"]]
    return values


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0]}"
