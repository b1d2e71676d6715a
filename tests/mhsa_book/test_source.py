"""What a page shows of the library is the library: run, it computes the same."""

import pytest
import torch
from einops import rearrange
from torch import nn

from mhsa_book import examples, source
from mhsa_lib import checks, functional, masks, stages
from mhsa_lib.stages import Stage


def executed(text):
    """What the shown lines define; `functional` in them is what is shown, where it is."""

    class Shown:
        def __getattr__(self, name):
            return names.get(name) or getattr(functional, name)

    names = {"torch": torch, "nn": nn, "Stage": Stage, "functional": Shown()}
    names |= {"masks": masks, "rearrange": rearrange}
    exec(text, names)
    return names


def test_the_stage_as_shown_computes_what_the_library_computes():
    parts = (stages.Attend, functional.score, functional.softmax, functional.mix)
    shown = executed(source.shown(*parts, without=["mask", "dropout"]))
    wires = examples.running()
    q, k, v = (wires[name] for name in ("q_heads", "k_heads", "v_heads"))
    assert torch.equal(shown["Attend"](scale=0.3)(q, k, v), stages.Attend(scale=0.3)(q, k, v))


def test_with_its_mask_too():
    text = source.shown(stages.Attend, functional.softmax, without=["dropout"])
    wires = examples.running()
    q, k, v = (wires[name] for name in ("q_heads", "k_heads", "v_heads"))
    found = executed(text)["Attend"](scale=0.3)(q, k, v, masks.causal)
    assert torch.equal(found, stages.Attend(scale=0.3)(q, k, v, masks.causal))


def test_nothing_is_shown_that_a_first_reading_need_not_see():
    for thing in (stages.Attend, stages.Project, stages.Split, stages.Concat):
        text = source.shown(thing)
        for hidden in ("checks", "Wire", "wires", "extra_repr", "Tensor", "->", '"""', "#"):
            assert hidden not in text, (thing, hidden)


def halved(x: float, mask: "list[int] | None" = None, *, by: float = 2.0) -> float:
    """The text that a reader does not see."""
    checks.positive(by=1)
    if mask is None:  # the usual case
        return (x * 1) / by  # in brackets
    return x


def test_layout_and_brackets_stay_as_they_were_written():
    assert source.shown(halved, without=["mask"]) == (
        "def halved(x, *, by=2.0):\n    return (x * 1) / by"
    )
    assert source.shown(halved).splitlines()[1:] == [
        "    if mask is None:",
        "        return (x * 1) / by",
        "    return x",
    ]


def passes_on(x, mask):
    return halved(x, mask=mask, by=4.0)


def computes(x, mask):
    return x * mask


def test_an_argument_is_left_out_where_it_is_passed_on_and_not_where_it_computes():
    assert source.shown(passes_on, without=["mask"]).endswith("return halved(x, by=4.0)")
    with pytest.raises(ValueError, match="a line computes with it"):
        source.shown(computes, without=["mask"])


def test_what_cannot_be_shown_is_refused():
    with pytest.raises(TypeError, match=r"\[1\] has no source.*class or a function"):
        source.shown([1])
    with pytest.raises(ValueError, match="without 'cover'"):
        source.shown(functional.softmax, without=["cover"])
