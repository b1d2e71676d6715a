"""The exhibits of a symptom as lines to print: what each does to a training."""

from collections.abc import Iterator

from mhsa_book.museum.catalogue import Exhibit
from mhsa_book.museum.families import VARIATIONS, families
from mhsa_book.museum.finding import exhibits
from mhsa_book.museum.measured import Effect, effect

SHARES = ("read", "written", "borrowed")


def hall(symptom: str) -> None:
    """Print every exhibit of a symptom, with its shares and those of the right attention.

    The right attention is that of the same setting. Variations of one mistake stand under its
    name. Raises ``ValueError`` for a symptom that there is not.

    >>> hall("error")
    in percent, wrong / right                   read    written   borrowed
    minus_a_billion_in_half                  99 / 99    99 / 99    99 / 99
    view_after_transpose                    raises RuntimeError
    """
    wanted = exhibits(symptom=symptom)
    print(f"{'in percent, wrong / right':37}" + "".join(f"{share:>11}" for share in SHARES))
    for line in _lines(wanted):
        print(line)


def _lines(wanted: tuple[Exhibit, ...]) -> Iterator[str]:
    for mistake, members in families().items():
        here = [each for each in members if each in wanted]
        grouped = mistake in VARIATIONS and len(here) > 1
        if grouped:
            yield f"{mistake}:"
        for each in here:
            yield f"{'  ' * grouped + each.name:37}{_shares(effect(each))}"


def _shares(found: Effect) -> str:
    """The three shares; where an error came instead, its kind.

    With the weights of the right attention the right attention has what it reads.
    """
    if found.mean("read") is None:
        return f"   raises {found.error.partition(':')[0]}"
    numbers = []
    for share in SHARES:
        wrong = found.mean(share)
        right = found.mean_right("read" if share == "borrowed" else share)
        numbers.append(f"{_percent(wrong)} / {_percent(right)}".rjust(11))
    return "".join(numbers)


def _percent(share: float | None) -> str:
    return "error" if share is None else f"{100 * share:.0f}"
