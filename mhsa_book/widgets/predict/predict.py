"""A question to answer before its answer is shown: a shape, a number or one of some options."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from traitlets import Any as AnyTrait
from traitlets import Bool, List, Unicode, observe

from mhsa_book.transformer.checks import whole_characters
from mhsa_book.widgets.figure import Figure
from mhsa_book.widgets.rules import Rule, items, number, one_of, or_none, whole


class Predict(Figure):
    """The reader answers first; a wrong answer hears which mistake it is.

    ``answer`` is a value that the code around it computed, so that the quiz cannot contradict
    the library: a shape (the reader types ``2, 3, 6, 4``), a number (typed; one that is not
    whole may be 1 % off), or, with ``options``, one of them (picked). ``wrong`` maps wrong
    answers to the sentence that names the misconception, ``because`` explains the right one,
    and ``axes`` names the axes of a shape, for hints. In every sentence a name may stand in
    backticks; anything else is plain text.

    What the reader does arrives in ``given`` (a list for a shape, a number, or the text of an
    option), ``correct`` (None before the first answer) and ``shown``.

    Raises ``ValueError`` if the question is empty, if the answer is not among the options or is
    called wrong, or if a backtick has no partner; ``TypeError`` for an answer of another kind.

    >>> from mhsa_lib import trace
    >>> from mhsa_book import examples
    >>> mha = examples.attention()
    >>> with trace(mha) as wires:
    ...     y = mha(examples.sentences())
    >>> quiz = Predict("What shape is `q_heads`?", wires["q_heads"].shape,
    ...                wrong={(2, 7, 12): "That is `q`."})
    >>> quiz.given = [2, 7, 12]
    >>> quiz.correct
    False
    """

    question = Unicode().tag(sync=True)
    answer = AnyTrait().tag(sync=True)
    written = Unicode().tag(sync=True)
    options: "List[Any]" = List().tag(sync=True)
    wrong: "List[Any]" = List().tag(sync=True)
    because = Unicode().tag(sync=True)
    axes: "List[Any]" = List().tag(sync=True)
    given = AnyTrait(None).tag(sync=True)
    correct = Bool(None, allow_none=True).tag(sync=True)
    shown = Bool(False).tag(sync=True)

    def __init__(
        self,
        question: str,
        answer: Any,
        wrong: Mapping[Any, str] | None = None,
        *,
        options: Sequence[Any] | None = None,
        because: str = "",
        axes: Sequence[str] = (),
    ) -> None:
        right, mistakes = _plain(answer), {} if wrong is None else wrong
        named = [[_plain(mistake), sentence] for mistake, sentence in mistakes.items()]
        choices = [_written(_plain(option)) for option in options or ()]
        if options is not None:
            right, named = _written(right), [[_written(m), sentence] for m, sentence in named]
        _check(question, right, named, choices if options is not None else None, axes)
        for text in (question, because, *choices, *(sentence for _, sentence in named)):
            whole_characters("A text", text)
            if text.count("`") % 2:
                raise ValueError(f"A backtick has no partner in {text!r}; close the `name`.")
        super().__init__(
            question=question,
            answer=right,
            written=_written(right),
            options=choices,
            wrong=named,
            because=because,
            axes=list(axes),
        )

    @observe("given")
    def _judge(self, change: Any) -> None:
        self.correct = None if self.given is None else _same(self.given, self.answer)

    def rules(self) -> dict[str, Rule]:
        """What was answered; a quiz has no link."""
        if self.options:
            given = one_of(self.options)
        elif isinstance(self.answer, list):
            given = items(whole(0, 10**15), most=99)
        else:
            given = number(-1e300, 1e300)
        return super().rules() | {"given": or_none(given)}

    @property
    def alt(self) -> str:
        return f"{self.question} Answer: {self.written}. {self.because}".rstrip()

    def without_script(self) -> str:
        """Question, options, and the answer behind a click."""
        options = "".join(f"<li>{_rich(option)}</li>" for option in self.options)
        answer = f"Answer: {_rich(self.written)}. {_rich(self.because)}".rstrip()
        return (
            f"<p>{_rich(self.question)}</p>"
            + (f"<ul>{options}</ul>" if options else "")
            + f"<details><summary>Show the answer</summary><p>{answer}</p></details>"
        )

    def __repr__(self) -> str:
        # Notebooks store this as plain text beside the figure: no answer in it.
        return f"Predict({self.question!r})"


def _plain(value: Any) -> Any:
    """A shape as a list, a tensor of one number as that number."""
    if isinstance(value, (tuple, list)):  # torch.Size is a tuple
        return [_plain(size) for size in value]
    return value.item() if hasattr(value, "item") else value


def _written(value: Any) -> str:
    """A value as a reader reads it: the shape (6, 12), the number 1,024, or a text."""
    if isinstance(value, list):
        return f"({', '.join(map(str, value))}{',' * (len(value) == 1)})"
    if isinstance(value, float):
        return f"{value:.4g}".replace("-", "−")
    return f"{value:,}".replace("-", "−") if type(value) is int else str(value)


def _same(given: Any, answer: Any) -> bool:
    """Exactly, but a number that is not whole may be 1 % off."""
    if isinstance(answer, float) and not answer.is_integer() and type(given) in (int, float):
        return abs(given - answer) <= 0.01 * abs(answer)
    return bool(given == answer)


def _check(
    question: str, answer: Any, wrong: list[Any], options: list[str] | None, axes: Sequence[str]
) -> None:
    if not question.strip():
        raise ValueError("The question is empty; write what the reader should predict.")
    if options is not None:
        if answer not in options or len(set(options)) != len(options):
            raise ValueError(
                f"options={options} must differ and contain the answer {answer!r}; add it."
            )
        strange = [mistake for mistake, _ in wrong if mistake not in options]
        if strange:
            raise ValueError(f"wrong answers {strange} are not among options={options}.")
    elif isinstance(answer, list):
        if not all(type(size) is int and size >= 0 for size in answer):
            raise ValueError(f"{answer} is not a shape; sizes are whole and not negative.")
        if axes and len(axes) != len(answer):
            raise ValueError(f"axes={tuple(axes)} must name each axis of {answer}.")
    elif type(answer) not in (int, float):
        raise TypeError(f"{answer!r} is neither a shape nor a number; give options.")
    elif not math.isfinite(answer):
        raise ValueError(f"The answer {answer} is not finite; give options.")
    if any(_same(mistake, answer) for mistake, _ in wrong):
        raise ValueError(f"The answer {answer!r} is also called wrong; remove it from `wrong`.")


def _rich(text: str) -> str:
    """HTML of a text: names in backticks as code, everything else as it is written."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if i % 2 else part for i, part in enumerate(parts))
