"""A language model that can be taken apart in the page, head by head."""

from functools import cache
from html import escape
from typing import Any

from traitlets import Dict, List, Unicode, observe, validate

from mhsa_book import models
from mhsa_book.widgets.head_explorer import HeadExplorer
from mhsa_book.widgets.language_model_lab import stored, weights
from mhsa_book.widgets.language_model_lab.answers import Answers
from mhsa_book.widgets.packed import unpacked

MODEL = cache(lambda: models.load("SmolLM2-135M"))
ANSWERED = ("read", "more", "look", "adds")
"""What the page may ask."""


class LanguageModelLab(HeadExplorer):
    """SmolLM2 on the reader's own prompt: next words, all 270 heads, a switch for each.

    It begins as ``HeadExplorer`` of ``prompt``, with the likeliest next words and with what
    every head adds to each of them. The results of the first prompt are stored, so the model is
    loaded only for another one. The page runs it when its reader asks for it: with a kernel in
    Python, in the built book from files beside the pages. Then the reader types, lets the model
    write on, and switches any of the heads off. All of that stays in the page: Python sets the
    traits and is told nothing.

    Raises ``ValueError`` for a prompt without a word, or with half of a character.

    >>> lab = LanguageModelLab()
    >>> lab.shape, lab.found["next"][0]["text"]
    ((30, 9, 14, 14), ' Mary')
    """

    prompt = Unicode().tag(sync=True)
    found: "Dict[str, Any]" = Dict().tag(sync=True)
    added: "List[Any]" = List().tag(sync=True)
    asset: "Dict[str, Any]" = Dict().tag(sync=True)
    engine: "Dict[str, Any]" = Dict().tag(sync=True)

    def __init__(self, prompt: str = stored.PROMPT, **chosen: Any) -> None:
        seen = _seen(prompt)
        maps = unpacked(seen["attention"])
        chosen = {"layer": 23, "head": 3, "query": maps.shape[2] - 1} | chosen
        chosen = {name: seen[name] for name in ("found", "added")} | chosen
        super().__init__(
            maps,
            seen["attention"]["tokens"],
            prompt=prompt,
            asset=weights.about(),
            engine=weights.engine().about,
            **chosen,
        )
        self.on_msg(self._answer)

    @validate("prompt")
    def _readable(self, proposal: Any) -> str:
        _seen(proposal["value"])
        return str(proposal["value"])

    @observe("prompt")
    def _read(self, change: Any) -> None:
        if not change.old:
            return
        with self.hold_sync():
            seen = _seen(change.new)
            last = len(seen["attention"]["tokens"]) - 1
            self.query, self.key = (min(at, last) for at in (self.query, self.key))
            for name in ("found", "added", "attention"):
                setattr(self, name, seen[name])

    @property
    def alt(self) -> str:
        likely = [f"“{each['text']}” {each['p']:.2f}" for each in self.found["next"][:3]]
        return f"After “{self.prompt}” come {', '.join(likely)}. {super().alt}"

    def without_script(self) -> str:
        """HTML for a page on which nothing runs: the map, and the likeliest next words."""
        return f"{super().without_script()}<p>{escape(self.alt.partition(' Heat map')[0])}</p>"

    def _answer(self, _: Any, asked: Any, __: Any) -> None:
        """Answer a question of the page, with its number."""
        if asked.get("ask") not in ANSWERED:
            return
        try:
            answer = getattr(self._answers, asked["ask"])(*asked["about"])
        except (MemoryError, OSError, TypeError, ValueError) as error:
            self.send({"number": asked["number"], "error": str(error)})
            return
        given = [answer.pop("weights")] if asked["ask"] == "look" else []
        self.send({"number": asked["number"], "answer": answer}, given)

    @property
    def _answers(self) -> Answers:
        if not hasattr(self, "_running"):
            self._running = Answers(MODEL(), stored.means())
        return self._running


def _seen(prompt: str) -> dict[str, Any]:
    """What the model says of a prompt, as it is stored or computed."""
    if prompt == stored.PROMPT:
        return dict(stored.results())
    answers = Answers(MODEL(), stored.means())
    found = answers.read(prompt, [], "zero")
    if found is None:
        raise ValueError(f"prompt {prompt!r} has no tokens; write at least one letter.")
    return {"found": found, "added": answers.adds(), "attention": answers.look()}
