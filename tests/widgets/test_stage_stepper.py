"""The stepper: PyTorch's numbers, and a number lights up exactly what its gradient reaches."""

import math
import re
from itertools import product

import pytest
import torch
from playwright.sync_api import expect
from torch import nn
from traitlets import TraitError

from mhsa_lib import FusedMultiHeadAttention, MultiHeadAttention, examples, masks, trace
from mhsa_lib.widgets import StageStepper
from mhsa_lib.widgets.stage_stepper import INPUTS, STEPS
from tests.helpers.drawn import mha, rand
from tests.widgets.conftest import confirm, milliseconds, node

# tokens, d_model, n_heads, d_head
SIZES = [(1, 1, 1, 1), (2, 4, 2, 2), (4, 6, 3, 2), (3, 5, 2, 3), (4, 2, 1, 4), (2, 3, 6, 1)]
BLIND = torch.tensor([[False, False], [True, False]])


def drawn(n, d_model, n_heads, d_head, mask=None) -> StageStepper:
    return StageStepper(rand(n, d_model), mha(d_model, n_heads, d_head=d_head), mask)


def numbers(stepper) -> dict:
    return {name: getattr(stepper, name) for name in (*INPUTS, "mask", "n_heads")}


def expected(stepper) -> dict[str, torch.Tensor]:
    """PyTorch's wires, and the two that only the stepper shows."""
    wires = dict(stepper.wires())
    dots = wires["scores"] * (len(stepper.W_Q[0]) / stepper.n_heads) ** 0.5
    masked = wires["scores"].masked_fill(~torch.tensor(stepper.mask), -math.inf)
    return wires | {"dots": dots, "masked": masked}


def tensor(rows) -> torch.Tensor:
    """Nested lists as node prints them: an infinite number is a text."""
    if isinstance(rows, list):
        return torch.stack([tensor(row) for row in rows])
    return torch.tensor(float(rows), dtype=torch.float64)


def places(name, shape) -> list[list]:
    return [[name, *place] for place in product(*map(range, shape))]


# --- the same numbers ------------------------------------------------------------------------


def test_every_wire_is_that_of_pytorch():
    steppers = [drawn(n, *size, torch.rand(n, n) < 0.6) for n, *size in SIZES * 8]
    found = node(
        "stage_stepper/forward", *[("forward", numbers(stepper)) for stepper in steppers]
    )
    for stepper, wires in zip(steppers, found, strict=True):
        wanted = expected(stepper)
        assert set(wires) - set(wanted) == {*INPUTS, "mask"}
        for name, wire in wanted.items():
            torch.testing.assert_close(tensor(wires[name]), wire, atol=1e-5, rtol=1e-5)


def test_the_wires_of_python_are_those_of_the_attention():
    x, attention = rand(3, 6).float(), examples.attention(6, 2)
    with torch.no_grad(), trace(attention) as wires:
        attention(x, mask=masks.causal)
    for name, wire in StageStepper(x, attention, masks.causal).wires().items():
        torch.testing.assert_close(wire.float(), wires[name])


def test_a_query_that_sees_nothing_gets_zeros():
    (wires,) = node("stage_stepper/forward", ("forward", numbers(StageStepper(mask=BLIND))))
    assert wires["weights"][0][0] == wires["z"][1][0] == [0, 0]
    assert wires["y"][0] == [0, 0, 0, 0]
    assert wires["weights"][0][1] == [1, 0]


# --- where a number comes from ---------------------------------------------------------------


def reached(number, wires) -> set[tuple]:
    """Places in the wires that the gradient of a number reaches, itself left out."""
    found = set()
    grads = torch.autograd.grad(
        number, list(wires.values()), retain_graph=True, allow_unused=True
    )
    for name, grad in zip(wires, grads, strict=True):
        if grad is not None:
            grad = grad.T if name.startswith("W_") else grad
            found |= {(name, *place) for place in grad.nonzero().tolist()}
    return found


@pytest.mark.parametrize("size", SIZES[1:])
def test_a_number_comes_from_exactly_what_its_gradient_reaches(size):
    """With no mask, so that no weight is exactly zero or one."""
    n, d_model, n_heads, d_head = size
    x, attention = rand(n, d_model).requires_grad_(), mha(d_model, n_heads, d_head=d_head)
    with trace(attention) as traced:
        attention(x)
    weights = zip(INPUTS[1:], attention.parameters(), strict=True)
    known = {"x": x, **dict(weights), **traced}
    stepper = StageStepper(x, attention)
    (wires,) = node("stage_stepper/forward", ("forward", numbers(stepper)))
    asked = [place for name, wire in traced.items() for place in places(name, wire.shape)]
    calls = [(name, place, wires) for place in asked for name in ("parents", "ancestors")]
    answers = node("stage_stepper/provenance", *calls)
    for place, near, far in zip(asked, answers[::2], answers[1::2], strict=True):
        name, *at = place
        lit = {tuple(one) for one in (*near, *far) if one[0] in known}
        assert lit == reached(traced[name][tuple(at)], known) - {tuple(place)}


BRIEF = "q[0, 1] = 1.00·0.40 + 0.50·0.30 + (−1.00)·(−0.50) + 2.00·0.20 = 1.45"


def test_the_arithmetic_is_written_out():
    (wires,) = node("stage_stepper/forward", ("forward", numbers(StageStepper())))
    asked = [
        ["q", 0, 1],
        ["k_heads", 1, 0, 1],
        ["scores", 0, 0, 1],
        ["weights", 0, 0, 1],
        ["x", 0, 2],
    ]
    assert node(
        "stage_stepper/provenance", *[("arithmetic", place, wires) for place in asked]
    ) == [
        BRIEF,
        "k_heads[1, 0, 1] = k[0, 3] = 2.00: the same number, moved.",
        "scores[0, 0, 1] = 1.45 / √2 = 1.0253",
        "weights[0, 0, 1] = exp(1.0253) / (exp(0.5127) + exp(1.0253)) = 0.6254",
        "x[0, 2] = −1.00, an input.",
    ]


def worked_out(words: str) -> tuple[float, float]:
    """The written expression, evaluated, and the number written behind it."""
    expression, result = words.removesuffix(", since exp(−∞) = 0.").split(" = ")[-2:]
    for sign, code in (("·", "*"), ("−", "-"), ("√", "sqrt "), ("∞", "inf")):
        expression, result = expression.replace(sign, code), result.replace(sign, code)
    expression = re.sub(r"sqrt (\d)", r"sqrt(\1)", expression)
    known = {"exp": math.exp, "sqrt": math.sqrt, "inf": math.inf}
    return eval(expression, known), float(result)


@pytest.mark.parametrize("wire", ["q", "k", "v", "dots", "scores", "weights", "z", "y"])
def test_every_written_expression_is_right(wire):
    for stepper in (StageStepper(mask=masks.causal), drawn(3, 5, 2, 3, masks.causal)):
        (wires,) = node("stage_stepper/forward", ("forward", numbers(stepper)))
        asked = places(wire, expected(stepper)[wire].shape)
        for words in node(
            "stage_stepper/provenance", *[("arithmetic", place, wires) for place in asked]
        ):
            said, result = worked_out(words)
            assert abs(said - result) < 2e-3, words


# --- in Python -------------------------------------------------------------------------------


def test_the_state_is_the_worked_example_in_the_orientation_of_the_formula():
    x, attention = examples.worked()
    state = StageStepper().state()
    assert state["x"] == x.tolist()
    assert state["W_Q"] == attention.project.W_Q.weight.T.tolist()
    assert state["W_O"] == attention.W_O.weight.T.tolist()
    assert (state["mask"], state["step"], state["selected"]) == ([[True] * 2] * 2, STEPS[0], [])


@pytest.mark.parametrize("mask", [masks.causal, masks.causal.dense(2, 2), torch.tensor([True])])
def test_masks_of_every_form_become_rows_of_booleans(mask):
    wanted = [[True, True]] * 2 if isinstance(mask, torch.Tensor) and mask.ndim == 1 else None
    assert StageStepper(mask=mask).mask == (wanted or [[True, False], [True, True]])


def refused(error, words, **arguments):
    with pytest.raises(error, match=words):
        StageStepper(**arguments)


def test_what_cannot_be_followed_by_hand_is_refused_in_words():
    six = MultiHeadAttention(6, 3)
    refused(ValueError, r"x is \(5, 6\).*1 to 4 tokens", x=rand(5, 6), attention=six)
    refused(ValueError, r"x is \(1, 2, 6\).*one sequence", x=rand(1, 2, 6), attention=six)
    refused(ValueError, r"x is \(0, 6\)", x=rand(0, 6), attention=six)
    refused(ValueError, "at most 6 columns", x=rand(2, 8), attention=MultiHeadAttention(8, 2))
    wide = MultiHeadAttention(4, 2, d_head=4)
    refused(ValueError, "2 heads of 4 columns", x=rand(2, 4), attention=wide)
    refused(ValueError, "x is 4 wide.*d_model=6", attention=six)
    refused(ValueError, "bias=False", attention=MultiHeadAttention(4, 2, bias=True))
    refused(
        ValueError, "standard stages", attention=MultiHeadAttention(4, 2, concat=nn.Identity())
    )
    refused(TypeError, r"to_attention\(\)", attention=FusedMultiHeadAttention(4, 2))
    refused(TypeError, "bool", mask=torch.ones(2, 2))
    refused(ValueError, r"mask \(3, 3\) does not fit", mask=torch.ones(3, 3).bool())
    refused(TraitError, "soft", step="soft")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e300, 100.5])
def test_a_number_too_large_or_none_at_all_is_named(value):
    x = torch.zeros(2, 4, dtype=torch.float64)
    x[1, 2] = value
    refused(ValueError, r"x\[1, 2\] = .*from -100 to 100", x=x)
    stepper = StageStepper()
    with pytest.raises(ValueError, match=r"x\[1, 2\] = "):
        stepper.x = x.tolist()
    assert stepper.x == examples.worked()[0].tolist()


def test_other_sizes_need_another_stepper():
    stepper = StageStepper()
    for name, rows in (("W_O", [[1.0]]), ("x", [[1.0] * 4]), ("mask", [[True]])):
        with pytest.raises(ValueError, match=f"{name} is .*make another StageStepper"):
            setattr(stepper, name, rows)
    with pytest.raises(TypeError, match="bool"):
        stepper.mask = [[1, 1], [0, 1]]


def test_the_still_picture_and_its_words_follow_the_numbers():
    stepper = StageStepper()
    assert stepper.alt.endswith("The largest is 0.9644, of head 1, from query 0 to key 1.")
    stepper.mask = [[True, False], [True, True]]
    assert stepper.alt.endswith("The largest is 1.0000, of head 0, from query 0 to key 0.")
    assert stepper.alt in stepper.html()


# --- in the browser --------------------------------------------------------------------------


def cell(page, *place):
    return page.locator(f'[data-place="{" ".join(map(str, place))}"]')


def step(page, name):
    page.get_by_role("button", name=name, exact=True).click()


def said(page) -> str:
    return page.get_by_role("status").inner_text()


def lit(page, how: str) -> set[str]:
    cells = page.locator(f"td.mhsa-{how}").all()
    return {one.get_attribute("data-place") for one in cells}


NUMBER = """cells => cells.map(td => [td.dataset.place, td.textContent])"""


def on_screen(page) -> dict[str, float]:
    """Every number that can be seen, by its place."""
    signs = str.maketrans({"−": "-", "∞": "inf", "■": "1", "·": "0"})
    seen = page.locator("td[data-place]").evaluate_all(NUMBER)
    return {place: float(text.translate(signs)) for place, text in seen}


def assert_shows(page, stepper):
    wanted = expected(stepper) | {n: tensor(getattr(stepper, n)) for n in (*INPUTS, "mask")}
    seen = on_screen(page)
    assert seen
    for place, value in seen.items():
        name, *at = place.split()
        assert abs(value - wanted[name][tuple(map(int, at))]) < 5.1e-5 or value == -math.inf


def test_every_step_shows_its_wires_with_the_numbers_of_pytorch(open_figure):
    stepper = StageStepper()
    page = open_figure(stepper)
    shown = []
    for name in STEPS:
        current = page.locator("[aria-current=step]")
        assert current.inner_text() == name
        assert_shows(page, stepper)
        new = page.locator(".mhsa-panel .mhsa-new").evaluate_all(
            "e => e.map(s => s.dataset.wire)"
        )
        assert new
        assert not set(new) & set(shown)
        shown += new
        if name != STEPS[-1]:
            page.get_by_role("button", name="Next").click()
    assert page.get_by_role("button", name="Next").is_disabled()
    headed = {"q_heads", "k_heads", "v_heads", "dots", "scores", "masked", "weights", "z"}
    wanted = {f"{w}[{h}]" for w in headed for h in (0, 1)} | {"q", "k", "v", "concat", "y"}
    assert set(shown) == wanted
    page.get_by_role("button", name="Previous").click()
    assert page.locator("[aria-current=step]").inner_text() == "concat"


def test_the_names_of_the_axes_are_those_of_a_trace(open_figure):
    page = open_figure(StageStepper(step="W_O"))
    for found in StageStepper().wires().steps.values():
        sheet = page.locator(f'[data-wire^="{found.wire}"] table').first
        *_, (down, rows), (across, columns) = found.axes.items()
        assert sheet.get_attribute("aria-label").endswith(f"{down} {rows} × {across} {columns}")


def test_pointing_at_a_number_lights_what_it_came_from(open_figure):
    page = open_figure(StageStepper(step="split"))
    cell(page, "q", 0, 1).hover()
    assert said(page) == BRIEF
    assert lit(page, "near") == {f"x 0 {c}" for c in range(4)} | {
        f"W_Q {c} 1" for c in range(4)
    }
    cell(page, "q_heads", 0, 0, 1).hover()
    assert (lit(page, "at"), lit(page, "near")) == ({"q_heads 0 0 1"}, {"q 0 1"})
    assert lit(page, "far") == {f"x 0 {c}" for c in range(4)} | {f"W_Q {c} 1" for c in range(4)}
    page.mouse.move(0, 0)
    assert lit(page, "at") == {"q_heads 0 0 0"}


def test_the_arrow_keys_walk_from_number_to_number(open_figure):
    page = open_figure(StageStepper(step="score"))
    cell(page, "dots", 1, 0, 0).focus()
    page.keyboard.press("ArrowRight")
    assert said(page) == "dots[1, 0, 1] = 2.05·0.30 + (−0.50)·(−2.00) = 1.615"
    page.keyboard.press("ArrowDown")
    assert lit(page, "at") == {"dots 1 1 1"}
    page.keyboard.press("Shift+Tab")
    assert lit(page, "at") == {"k_heads 1 0 0"}


def test_the_steps_can_be_walked_with_the_keyboard(open_figure):
    page = open_figure(StageStepper())
    page.get_by_role("button", name="project", exact=True).focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    assert page.locator("[aria-current=step]").inner_text() == "W_O"


@pytest.mark.parametrize("name", INPUTS)
def test_an_edited_number_changes_all_later_ones(open_figure, name):
    stepper = StageStepper(step="W_O", mask=masks.causal)
    page = open_figure(stepper)
    cell(page, name, 1, 2).click()
    page.keyboard.type("-1,25")
    rows = [list(row) for row in getattr(stepper, name)]
    rows[1][2] = -1.25
    assert_shows(page, stepper)  # a number that is not confirmed does not count
    setattr(stepper, name, rows)
    page.keyboard.press("Enter")
    assert_shows(page, stepper)
    assert lit(page, "at") == {f"{name} 1 2"}
    page.keyboard.press("ArrowLeft")
    page.keyboard.type("7")
    page.keyboard.press("Enter")
    rows[1][1] = 7
    setattr(stepper, name, [list(row) for row in rows])
    assert_shows(page, stepper)
    page.get_by_role("button", name="Reset").click()
    assert_shows(page, StageStepper(mask=masks.causal))


REFUSED = {
    "": "The field is empty.",
    "NaN": "“NaN” is not a number.",
    "-inf": "An infinite number makes NaN in the next product.",
    "1e300": "1e300 is too large to follow by hand.",
    "1e999": "An infinite number",
    "<img src=x onerror=alert(1)>": "“<img src=x onerror=a” is not a number.",
    "\u202e\u05d0🙂": "is not a number.",
}


@pytest.mark.parametrize("typed", REFUSED)
def test_what_is_no_number_is_said_and_changes_nothing(open_figure, typed):
    stepper = StageStepper()
    page = open_figure(stepper)
    cell(page, "W_K", 0, 0).click()
    field = page.get_by_role("textbox")
    confirm(field, typed)
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text(REFUSED[typed])
    expect(alert).to_contain_text("Type a number from −100 to 100.")
    assert field.get_attribute("aria-invalid") == "true"
    assert_shows(page, stepper)
    assert page.locator(".mhsa-figure img").count() == 0
    cell(page, "W_K", 0, 1).click()
    assert (field.input_value(), alert.inner_text()) == ("0", "")


def test_escape_restores_the_number_and_a_refused_one_changes_nothing(open_figure):
    stepper = StageStepper()
    page = open_figure(stepper)
    cell(page, "x", 1, 0).click()
    field, old = page.get_by_role("textbox"), page.get_by_role("textbox").input_value()
    for typed, confirmed in [("500", False), ("5", False), ("1e9", True)]:
        field.focus()
        field.fill(typed)
        if confirmed:
            field.press("Enter")
            assert page.get_by_role("alert").inner_text() != ""
            assert page.evaluate("document.activeElement.value") == typed
        field.press("Escape")
        assert (field.input_value(), page.get_by_role("alert").inner_text()) == (old, "")
        assert page.evaluate("document.activeElement.dataset.place") == "x 1 0"
        assert_shows(page, stepper)


def test_a_chosen_mask_and_its_toggled_cells(open_figure):
    stepper = StageStepper(step="mask")
    page = open_figure(stepper)
    choice = page.get_by_label("mask", exact=True)
    choice.select_option("causal")
    stepper.mask = [[True, False], [True, True]]
    assert_shows(page, stepper)
    assert on_screen(page)["masked 0 0 1"] == -math.inf
    cell(page, "mask", 0, 0).click()
    assert choice.evaluate("e => e.value") == "my own"
    note = "Query 0 may look at no key: its weights, its z and its y are zeros."
    expect(page.get_by_text(note)).to_be_visible()
    step(page, "W_O")
    stepper.mask = [[False, False], [True, True]]
    assert_shows(page, stepper)
    cell(page, "weights", 0, 0, 1).hover()
    assert (
        said(page)
        == "weights[0, 0, 1] = 0: query 0 may look at no key, so its weights are zeros."
    )
    cell(page, "mask", 0, 0).focus()
    page.keyboard.press("Enter")
    assert page.get_by_text(note).count() == 0


def test_the_first_view_can_be_set_from_python(open_figure):
    page = open_figure(StageStepper(step="mix", selected=["z", 1, 0, 0]))
    assert said(page).startswith("z[1, 0, 0] = 0.0356·0.50 + 0.9644·1.00 = ")
    page = open_figure(StageStepper(step="mix", selected=["no wire", 0, "<b>"]))
    assert lit(page, "at") == {"z 0 0 0"}


def test_scores_past_the_range_of_exp(open_figure):
    x = torch.full((2, 4), 100.0)
    page = open_figure(StageStepper(x, step="softmax"))
    assert "the largest score is taken off first" in said(page)
    assert on_screen(page)["weights 0 0 0"] == 0.5


@pytest.mark.parametrize(
    ("width", "theme"), [(390, "dark"), (768, "light"), (1280, "dark"), (1920, "light")]
)
def test_it_fits_its_page(open_figure, width, theme):
    big = drawn(4, 6, 3, 2)
    big.x = (torch.tensor(big.x).sign() * 99.9375).tolist()
    page = open_figure(big, width=width, theme=theme)
    for name in STEPS:
        step(page, name)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        inside = page.locator(".mhsa-sheet").evaluate_all(
            "sheets => Math.max(...sheets.map(s => s.getBoundingClientRect().right))"
        )
        assert inside <= width
    sizes = page.locator("td").evaluate_all(
        "e => e.map(t => t.getBoundingClientRect().toJSON())"
    )
    assert min(min(size["width"], size["height"]) for size in sizes) >= 23.5


def test_paper_shows_the_step_without_its_controls(open_figure):
    page = open_figure(StageStepper(step="scale"))
    page.emulate_media(media="print")
    assert not page.get_by_role("button", name="Next").is_visible()
    expect(page.get_by_role("status")).to_have_text("scores[0, 0, 0] = 0.725 / √2 = 0.5127")
    assert page.locator(".mhsa-bar").evaluate("e => getComputedStyle(e).position") == "static"


HOVER = """() => {
  const cells = [...document.querySelectorAll("td[data-place^='y ']")];
  const times = cells.map((td) => {
    const start = performance.now();
    td.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
    document.body.getBoundingClientRect();
    return performance.now() - start;
  });
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)];
}"""


def test_an_interaction_takes_less_than_50_ms(open_figure, report):
    page = open_figure(drawn(4, 6, 3, 2))
    step(page, "W_O")
    pointing = page.evaluate(HOVER)
    toggling = milliseconds(page, "[data-place='mask 0 1']", "click")
    stepping = milliseconds(page, ".mhsa-steps button", "click")
    times = f"{pointing:.1f} ms to point, {toggling:.1f} ms to recompute"
    report(f"stage stepper, 4 tokens of 6: {times}")
    assert max(pointing, toggling, stepping) < 50
