"""What is said about an answer: nothing to judge yet, right, or not yet and why."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """A verdict that shows itself in a notebook; true for a right answer.

    >>> Verdict("right", "Right.")
    Right.
    """

    state: str  # "unfilled", "right" or "wrong"
    text: str

    def __bool__(self) -> bool:
        return self.state == "right"

    def __repr__(self) -> str:
        return self.text


def unfilled(name: str) -> Verdict:
    """There is no answer yet."""
    return Verdict("unfilled", f"{name}: put your answer in the place of the dots.")


def right(because: str = "") -> Verdict:
    """The answer is right."""
    return Verdict("right", f"Right. {because}".strip())


def wrong(why: str) -> Verdict:
    """The answer is not right, for a reason."""
    return Verdict("wrong", f"Not yet. {why}")
