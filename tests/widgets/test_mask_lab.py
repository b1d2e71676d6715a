"""The mask laboratory: the library's masks, PyTorch's weights, and a reader who paints."""

import re

import pytest
import torch
from playwright.sync_api import expect
from torch import nn
from torch.nn.functional import scaled_dot_product_attention as sdpa
from traitlets import TraitError

from mhsa_lib import examples, masks
from mhsa_lib import functional as F
from mhsa_lib.equivalence import empty_row
from mhsa_lib.widgets import MaskLab
from mhsa_lib.widgets.mask_lab import LONGEST, RULES
from tests.widgets.conftest import confirm, milliseconds, node
from tests.widgets.plain_model import mount_again

BAD = ["<img src=x onerror=alert(1)>", '"', "שלום", "e\u0301", "👩‍👩‍👧", "", "x" * 1000]


def assert_near(rows, wanted):
    found = torch.tensor(rows, dtype=wanted.dtype)
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=0)


# --- the mathematics -------------------------------------------------------------------------


def test_every_preset_is_the_mask_of_the_library():
    sizes = range(1, LONGEST + 1)
    cases = [(kind, n, size) for kind in RULES for n in range(1, LONGEST + 1) for size in sizes]
    calls = [("maskOf", kind, n, [], size) for kind, n, size in cases]
    for (kind, n, size), found in zip(cases, node("mask_lab/rules", *calls), strict=True):
        wanted = RULES[kind](n).dense(size, size).reshape(size, size)
        assert found == wanted.tolist(), (kind, n, size)


def random_cases(n=40):
    for seed in range(n):
        torch.manual_seed(seed)
        size = int(torch.randint(1, LONGEST + 1, ()))
        scores = torch.randn(size, size, dtype=torch.float64) * 4
        yield scores, torch.rand(size, size) < 0.5


def test_weights_under_any_mask_are_those_of_pytorch():
    cases = list(random_cases())
    assert any((~mask.any(dim=-1)).any() for _, mask in cases)
    calls = [("softmax", scores.tolist(), mask.tolist()) for scores, mask in cases]
    for (scores, mask), found in zip(cases, node("shared/tensor", *calls), strict=True):
        wanted = F.softmax(scores[None], mask[None])[0]
        assert_near(found, wanted)


def test_the_mistake_of_ones_and_zeros_is_what_sdpa_does_with_them():
    cases = list(random_cases())
    found = node("mask_lab/rules", *[("nudged", s.tolist(), m.tolist()) for s, m in cases])
    for (scores, mask), weights in zip(cases, found, strict=True):
        size = len(scores)
        q, eye = scores[None], torch.eye(size, dtype=scores.dtype)[None]
        wanted = sdpa(q, eye, eye, attn_mask=mask.double(), scale=1.0)[0]
        assert_near(weights, wanted)


def test_what_leaks_is_the_mean_weight_on_forbidden_pairs():
    cases = list(random_cases())
    weights = [torch.softmax(scores, dim=-1) for scores, _ in cases]
    calls = [("leak", w.tolist(), m.tolist()) for w, (_, m) in zip(weights, cases, strict=True)]
    for w, (_, mask), found in zip(weights, cases, node("mask_lab/rules", *calls), strict=True):
        assert found == pytest.approx((w * ~mask).sum(dim=-1).mean().item(), abs=1e-9)


def made(text: str) -> torch.Tensor:
    """Run the text that a reader copies."""
    lines = text.split("\n")
    names = {"torch": torch}
    start = next(i for i, line in enumerate(lines) if line.startswith("torch.tensor"))
    exec("\n".join(lines[:start]), names)
    return eval("\n".join(lines[start:]), names)


def test_the_copied_text_makes_the_mask_in_both_polarities_and_forms():
    for scores, mask in list(random_cases(15)):
        mask[:, 0] = True  # implementations differ where a row is empty
        rows, opposite = mask.tolist(), (~mask).tolist()
        sdpa_text, module_text, added_text = (
            form["text"]
            for form in node(
                "mask_lab/rules",
                ("inForm", "boolean", rows),
                ("inForm", "boolean", opposite),
                ("inForm", "additive", rows),
            )
        )
        assert torch.equal(made(sdpa_text), mask)
        assert torch.equal(made(module_text), masks.to_torch(mask))
        assert torch.equal(masks.from_additive(made(added_text)), mask)

        size = len(mask)
        q, eye = scores.float()[None], torch.eye(size)[None]
        wanted = F.softmax(q * size**-0.5, mask[None])
        module = nn.MultiheadAttention(size, 1, bias=False, batch_first=True)
        with torch.no_grad():
            module.in_proj_weight.copy_(torch.eye(size).repeat(3, 1))
        for text in (module_text, added_text):
            found = module(q, eye, eye, attn_mask=made(text))[1]
            torch.testing.assert_close(found, wanted, atol=1e-5, rtol=0)
        for text in (sdpa_text, added_text):
            found = sdpa(q, eye, eye, attn_mask=made(text))
            torch.testing.assert_close(found, wanted, atol=1e-5, rtol=0)


# --- the Python class ------------------------------------------------------------------------


def test_the_running_sentence_and_its_real_scores():
    lab, mha, x = MaskLab(), examples.attention(), examples.sentence()
    q, k, _ = mha.split(*mha.project(x, x))
    assert lab.tokens == list(examples.SENTENCE)
    torch.testing.assert_close(torch.tensor(lab.scores), F.score(q, k, scale=0.5).detach())
    wanted = F.softmax(F.score(q, k, scale=0.5), masks.causal.dense(6, 6)[None])
    torch.testing.assert_close(lab.weights, wanted[0].detach())


@pytest.mark.parametrize("rule", [masks.padding([4]), masks.prefix(2), ~masks.causal, "tensor"])
def test_a_mask_from_python_is_kept_as_the_readers_own(rule):
    dense = torch.rand(6, 6) < 0.5 if rule == "tensor" else rule.dense(6, 6).reshape(6, 6)
    lab = MaskLab(mask=dense if rule == "tensor" else rule)
    assert lab.kind == "your own"
    assert torch.equal(lab.mask, dense)
    lab.mask = None
    assert lab.kind == "none"
    assert lab.mask.all()


def test_the_answers_travel_as_they_were_run():
    assert [tuple(answer.values()) for answer in MaskLab().answers] == empty_row.answers()


def test_a_row_of_keys_serves_every_query():
    assert MaskLab(mask=torch.tensor([True] * 3 + [False] * 3)).mask.sum() == 18


def test_what_does_not_fit_is_refused_with_a_repair():
    scores = torch.zeros(2, 3, 3)
    for wrong, tokens, words in [
        (scores, ["a"] * 4, r"scores have shape \(2, 3, 3\); 4 tokens need"),
        (torch.zeros(3, 3), ["a"] * 3, r"\(3, 3\); 3 tokens need \(head, query, key\)"),
        (torch.zeros(1, 11, 11), ["a"] * 11, "11 tokens do not fit; use at most 10"),
        (scores / 0, ["a"] * 3, "scores hold NaN"),
        (scores, [], "tokens=0 is not a size"),
    ]:
        with pytest.raises(ValueError, match=words):
            MaskLab(wrong, tokens)


def test_a_mask_that_is_no_mask_is_refused_in_the_words_of_the_library():
    with pytest.raises(TypeError, match='True means "may look"'):
        MaskLab(mask=torch.zeros(6, 6))
    with pytest.raises(ValueError, match="does not fit scores"):
        MaskLab(mask=torch.ones(5, 5, dtype=torch.bool))
    with pytest.raises(TypeError, match="pass a bool tensor or a predicate"):
        MaskLab(mask="causal")


def test_traits_that_are_not_there_are_refused():
    for wrong, words in [
        ({"head": 3}, "head=3 is not there; the last is 2"),
        ({"kind": "diagonal"}, "diagonal"),
        ({"n": 0}, "not be less than 1"),
        ({"painted": [[True]]}, "6 rows of 6 booleans"),
        ({"painted": [[1] * 6] * 6}, "6 rows of 6 booleans"),
    ]:
        with pytest.raises(TraitError, match=words):
            MaskLab(**wrong)


def test_the_alternative_text_counts_pairs_and_empty_rows():
    assert "21 of 36 pairs may look, and 0 queries" in MaskLab().alt
    assert "16 of 36 pairs may look, and 2 queries" in MaskLab(kind="padding", n=4).alt


def test_a_readers_words_are_data_and_nothing_else():
    html = MaskLab(torch.zeros(1, 7, 7), BAD).html()
    assert "<img src=x" not in html
    assert len(html) < 200_000


# --- in the browser --------------------------------------------------------------------------


def cell(page, query: str, key: str):
    return page.get_by_role("button", name=f"{query} looks at {key}", exact=True)


def whole(page, name: str):
    return page.get_by_role("button", name=name, exact=True)


def shown(page, table: str = "Weights of the chosen head"):
    rows = page.get_by_role("table", name=table).locator("tbody tr")
    texts = "rows => rows.map(row => [...row.querySelectorAll('td')].map(td => td.innerText))"
    return rows.evaluate_all(texts)


def written(weights, mask):
    pairs = zip(weights.tolist(), mask.tolist(), strict=True)
    return [
        [f"{w:.2f}" if may else "" for w, may in zip(row, allowed, strict=True)]
        for row, allowed in pairs
    ]


SIZES = """all => all.map((one) => {
  const { width, height } = one.getBoundingClientRect();
  return [width, height];
})"""


def pressed(page):
    buttons = page.get_by_role("table", name="Mask", exact=True).locator("[aria-pressed]")
    flags = buttons.evaluate_all("all => all.map(one => one.ariaPressed === 'true')")
    side = int(len(flags) ** 0.5)
    return [flags[i * side : (i + 1) * side] for i in range(side)]


def test_every_kind_and_head_shows_the_weights_of_pytorch(open_figure):
    page = open_figure(MaskLab())
    menu = page.get_by_label("mask", exact=True)
    assert menu.locator("option").all_inner_texts() == [*RULES, "your own"]
    for kind in RULES:
        menu.select_option(kind)
        for head in range(3):
            page.get_by_label("head", exact=True).select_option(str(head))
            lab = MaskLab(kind=kind, head=head)
            assert pressed(page) == lab.mask.tolist(), kind
            assert shown(page) == written(lab.weights, lab.mask), (kind, head)


@pytest.mark.parametrize(
    ("kind", "name"),
    [("padding", "length"), ("prefix", "prefix"), ("sliding window", "window")],
)
def test_the_one_number_of_a_rule_is_typed_and_slid(open_figure, kind, name):
    page = open_figure(MaskLab())
    page.get_by_label("mask", exact=True).select_option(kind)
    dials = page.locator(".mhsa-dial:visible")
    assert dials.count() == 1
    confirm(dials.get_by_label(f"{name}, exactly"), "2")
    assert pressed(page) == MaskLab(kind=kind, n=2).mask.tolist()
    dials.get_by_label(name, exact=True).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert pressed(page) == MaskLab(kind=kind, n=4).mask.tolist()


@pytest.mark.parametrize("typed", ["", "0", "-3", "1e300", "2.5", "99"])
def test_a_number_that_does_not_fit_is_explained_and_changes_nothing(open_figure, typed):
    page = open_figure(MaskLab(kind="sliding window", n=2))
    before = shown(page)
    confirm(page.get_by_label("window, exactly"), typed)
    alert = page.locator("[role=alert]")
    assert alert.inner_text() == "window must be a whole number from 1 to 6."
    assert shown(page) == before
    confirm(page.get_by_label("window, exactly"), "3")
    assert alert.inner_text() == ""


def test_a_click_paints_and_makes_the_preset_your_own(open_figure):
    page, lab = open_figure(MaskLab()), MaskLab()
    cell(page, "The", "mat").click()
    mask = lab.mask.clone()
    mask[0, 5] = True
    lab.mask = mask
    assert page.get_by_label("mask", exact=True).input_value() == "your own"
    assert pressed(page) == mask.tolist()
    assert shown(page) == written(lab.weights, mask)
    cell(page, "The", "mat").click()
    assert pressed(page) == MaskLab().mask.tolist()


def test_a_drag_paints_every_cell_that_it_passes_with_one_value(open_figure):
    page = open_figure(MaskLab())
    cell(page, "The", "sat").hover()
    page.mouse.down()
    for key in ("on", "the", "mat"):
        cell(page, "The", key).hover()
    cell(page, "mat", "mat").hover()  # already allowed: a stroke never takes back
    page.mouse.up()
    cell(page, "cat", "mat").hover()  # the stroke has ended
    mask = MaskLab().mask.clone()
    mask[0, 2:] = True
    assert pressed(page) == mask.tolist()


def test_a_tap_paints(open_figure):
    page = open_figure(MaskLab(), width=390, has_touch=True)
    cell(page, "cat", "The").tap()
    mask = MaskLab().mask.clone()
    mask[1, 0] = False
    assert pressed(page) == mask.tolist()


def drag_a_finger(page, *places):
    """From the middle of one element to that of the next, as a touch screen reports it."""
    page.evaluate("scrollTo(0, 0)")
    send = page.context.new_cdp_session(page).send
    boxes = [place.bounding_box() for place in places]
    stops = [(b["x"] + b["width"] / 2, b["y"] + b["height"] / 2) for b in boxes]
    kinds = ["touchStart"] + ["touchMove"] * (len(stops) - 1)
    for kind, (x, y) in zip(kinds, stops, strict=True):
        send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
    send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_timeout(50)


def test_a_finger_paints_every_cell_that_it_passes(open_figure):
    page = open_figure(MaskLab(), width=390, has_touch=True)
    mask = MaskLab().mask.clone()
    drag_a_finger(page, *(cell(page, "The", key) for key in ("cat", "sat", "on", "the")))
    mask[0, 1:5] = True
    assert pressed(page) == mask.tolist()
    drag_a_finger(page, *(cell(page, query, "cat") for query in ("cat", "sat", "on", "mat")))
    mask[[1, 2, 3, 5], 1] = False
    assert pressed(page) == mask.tolist()
    drag_a_finger(page, cell(page, "sat", "on"), cell(page, "on", "the"))  # slantwise
    mask[2, 3] = mask[3, 4] = True
    assert pressed(page) == mask.tolist()
    drag_a_finger(
        page, whole(page, "query the, whole row"), whole(page, "query mat, whole row")
    )
    mask[4:] = False
    assert pressed(page) == mask.tolist()
    assert page.evaluate("scrollY") == 0


def test_a_finger_outside_the_grid_scrolls_the_page_and_paints_nothing(open_figure):
    page = open_figure(MaskLab(), width=390, has_touch=True)
    below = page.get_by_role("table", name="Weights of the chosen head").locator("tbody tr")
    drag_a_finger(page, *(below.nth(i) for i in range(5, -1, -1)))
    assert page.evaluate("scrollY") > 0
    assert pressed(page) == MaskLab().mask.tolist()


def test_the_keyboard_reaches_and_paints_every_cell(open_figure):
    page = open_figure(MaskLab())
    page.get_by_label("head", exact=True).focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "all"
    for key in ("ArrowDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.ariaLabel") == "The looks at cat"
    page.keyboard.press("Space")
    mask = MaskLab().mask.clone()
    mask[0, 1] = True
    assert pressed(page) == mask.tolist()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    mask[0, 5] = True
    assert pressed(page) == mask.tolist()


def test_after_a_mouse_the_keyboard_still_paints_the_same_cell(open_figure):
    page = open_figure(MaskLab())
    cell(page, "The", "mat").click()
    page.keyboard.press("Space")
    assert pressed(page) == MaskLab().mask.tolist()


def test_tokens_switch_rows_and_columns_and_the_corner_everything(open_figure):
    page = open_figure(MaskLab(kind="none"))
    whole(page, "query sat, whole row").click()
    whole(page, "key The, whole column").click()
    mask = torch.ones(6, 6, dtype=torch.bool)
    mask[2], mask[:, 0] = False, False
    assert pressed(page) == mask.tolist()
    whole(page, "all pairs").click()
    assert not any(map(any, pressed(page)))
    whole(page, "all pairs").click()
    assert all(map(all, pressed(page)))


def test_your_own_starts_from_the_mask_that_is_there(open_figure):
    page = open_figure(MaskLab(kind="prefix", n=2))
    page.get_by_label("mask", exact=True).select_option("your own")
    assert pressed(page) == MaskLab(kind="prefix", n=2).mask.tolist()


def test_an_empty_row_shows_what_every_implementation_answers(open_figure):
    page = open_figure(MaskLab())
    expect(page.get_by_role("status")).to_contain_text("Every query has a key.")
    table = page.locator(".mhsa-answers")
    assert table.count() == 0
    whole(page, "query The, whole row").click()
    assert shown(page)[0] == [""] * 6
    words = {"zeros": "all 0", "NaN": "all NaN", "equal": "all 1/6, forbidden keys too"}
    wanted = [[a.implementation, words[a.weights], a.gradient] for a in empty_row.answers()]
    rows = table.locator("tbody tr").all()
    assert [row.locator("th, td").all_inner_texts() for row in rows] == wanted
    assert (
        f"torch {torch.__version__.partition('+')[0]}"
        in page.locator(".mhsa-empty").inner_text()
    )
    expect(page.get_by_role("status")).to_contain_text("“The” looks at nothing.")


def test_both_polarities_stand_side_by_side_and_can_be_copied(open_figure):
    page = open_figure(MaskLab(kind="sliding window", n=2))
    mask = masks.sliding_window(2).dense(6, 6)
    letters = {True: "T", False: "F"}
    for api, wanted in (
        ("Mask for scaled_dot_product_attention", mask),
        ("Mask for nn.MultiheadAttention", masks.to_torch(mask)),
    ):
        assert shown(page, api) == [[letters[may] for may in row] for row in wanted.tolist()]
    texts = page.locator(".mhsa-text pre").all_inner_texts()
    assert torch.equal(made(texts[0]), mask)
    assert torch.equal(made(texts[1]), ~mask)
    page.get_by_role("button", name="Copy for SDPA").click()
    assert page.evaluate("getSelection().toString()").strip() == texts[0].strip()
    expect(page.locator(".mhsa-text button").first).to_have_text(re.compile("Copied|Ctrl"))
    cell(page, "mat", "The").click()
    assert page.locator(".mhsa-text button").first.inner_text() == "Copy for SDPA"


def test_the_mistake_hands_each_mask_to_the_other(open_figure):
    page, lab = open_figure(MaskLab()), MaskLab()
    wrong = F.softmax(torch.tensor(lab.scores), ~lab.mask[None])[0]
    assert shown(page, "Weights after the mistake") == written(wrong, ~lab.mask)
    said = page.locator(".mhsa-three > div").last.inner_text()
    assert "1 of 6 queries are left with nothing" in said


def test_the_additive_form_is_one_tensor_for_both(open_figure):
    page, lab = open_figure(MaskLab()), MaskLab()
    page.get_by_label("form", exact=True).select_option("additive")
    texts = page.locator(".mhsa-text pre").all_inner_texts()
    assert texts[0] == texts[1]
    assert torch.equal(masks.from_additive(made(texts[0])), lab.mask)
    wrong = torch.softmax(torch.tensor(lab.scores[0]) + lab.mask.float(), dim=-1)
    everything = torch.ones(6, 6, dtype=torch.bool)
    assert shown(page, "Weights after the mistake") == written(wrong, everything)
    share = round(100 * (wrong * ~lab.mask).sum(dim=-1).mean().item())
    assert f"{share} % of the weight" in page.locator(".mhsa-three > div").last.inner_text()


def test_setting_a_trait_redraws_and_ending_the_figure_stops_listening(open_figure):
    lab = MaskLab()
    page = open_figure(lab)
    mount_again(page, lab)
    assert page.evaluate("saved") == 0  # drawing writes nothing back
    page.evaluate("model.set('kind', 'prefix'); model.set('n', 2); model.set('head', 1)")
    lab = MaskLab(kind="prefix", n=2, head=1)
    assert shown(page) == written(lab.weights, lab.mask)
    lab.mask = masks.causal & masks.key_padding([4])
    page.evaluate("rows => model.set('painted', rows)", lab.painted)
    page.evaluate("model.set('kind', 'your own')")
    assert shown(page) == written(lab.weights, lab.mask)
    page.evaluate("end()")
    assert page.evaluate("listening()") == 0
    assert page.locator(".mhsa-body").count() == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_any_token_is_text_and_nothing_runs_off_a_phone(open_figure, theme):
    page = open_figure(MaskLab(torch.zeros(1, 7, 7), BAD), width=390, theme=theme)
    assert page.locator("img").count() == 0
    rows = page.get_by_role("table", name="Mask", exact=True).locator("tr")
    names = [rows.nth(i + 1).locator("button").first.inner_text() for i in range(7)]
    assert names[0] == "<img src=x …"
    assert names[5:] == ["(blank)", "x" * 11 + "…"]
    whole(page, "all pairs").click()
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_one_token_is_enough(open_figure):
    page = open_figure(MaskLab(torch.zeros(1, 1, 1), ["I"]))
    assert shown(page) == [["1.00"]]
    cell(page, "I", "I").click()
    assert shown(page) == [[""]]


def test_ink_can_be_told_from_paper_in_both_themes(open_figure):
    for theme in ("light", "dark"):
        page = open_figure(MaskLab(), theme=theme)
        colours = page.evaluate(
            "() => ['true', 'false'].map((on) => getComputedStyle(document.querySelector("
            "`.mhsa-paint [aria-pressed=${on}]`)).backgroundColor)"
        )
        assert colours[0] != colours[1]


def test_touch_targets_are_large_enough_on_a_phone(open_figure):
    page = open_figure(MaskLab(torch.zeros(1, 8, 8), ["word"] * 8), width=390)
    sizes = page.locator(".mhsa-paint button").evaluate_all(SIZES)
    assert len(sizes) > 64
    assert min(map(min, sizes)) >= 24


def test_painting_answers_within_a_blink(open_figure, report):
    page = open_figure(MaskLab(torch.randn(12, 10, 10), [f"t{i}" for i in range(10)]))
    pair = "button[aria-label='t3 looks at t7']"
    paint = milliseconds(page, pair, "click")
    everything = milliseconds(page, "button[aria-label='all pairs']", "click")
    report(f"mask laboratory, 10 tokens: {paint:.1f} ms a cell, {everything:.1f} ms for all")
    assert max(paint, everything) < 50
