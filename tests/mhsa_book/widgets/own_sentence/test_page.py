"""The model runs in a page from a file, with no network, and says what it does."""

import time

import pytest
from playwright.sync_api import expect

from mhsa_book.widgets import OwnSentence
from mhsa_book.widgets.own_sentence import quantise
from mhsa_book.widgets.own_sentence.own_sentence import BANK, TIRED
from tests.mhsa_book.widgets.own_sentence import pytorch
from tests.mhsa_book.widgets.own_sentence.reader import NEAR, WAIT, far, read, switch, turned

SENTENCES = [
    "A bank is where the river keeps its money.",
    "Die Wände hören mit – 我在河边的银行取钱 😀",
    "No head is an island, said head seven to head eleven, and looked at itself.",
]


def test_nothing_is_loaded_before_the_reader_asks_and_its_size_is_true(open_figure, beside):
    page, asked = open_figure(OwnSentence()), []
    page.on("request", lambda request: asked.append(request.url))
    assert far(page, TIRED) < NEAR  # the stored one
    assert page.locator(".mhsa-switches, .mhsa-two").count() == 0
    assert not page.get_by_label("text", exact=True).is_visible()
    expect(page.get_by_text("What you type stays in this page")).to_be_visible()
    assert asked == []
    size = sum(beside.values()) / 1e6
    page.get_by_role("button", name=f"Load the model ({size:.3g} MB)", exact=True).click()
    page.locator(".mhsa-switches").wait_for(timeout=WAIT)
    scripts = [url for url in asked if not url.startswith("blob:")]
    assert [url.rpartition("/")[2] for url in scripts] == [*beside]
    assert all(url.startswith("file:") for url in scripts)


def test_three_sentences_are_typed_and_every_map_is_pytorch_s(loaded, report):
    page = loaded(OwnSentence())
    far_off, took = [], []
    for text in SENTENCES:
        tokens, start = len(quantise.MODEL().attend(text)[0]), time.perf_counter()
        read(page, text, tokens)
        took.append(f"{tokens} in {time.perf_counter() - start:.2f} s")
        far_off.append(far(page, text))
    report(
        f"own sentence: 3 typed, 72 maps as drawn, at most {max(far_off):.4f} off; tokens "
        f"typed and drawn: {', '.join(took)}"
    )
    assert max(far_off) < NEAR
    expect(page.locator(".mhsa-picture").first).to_contain_text("island")


def test_any_heads_are_switched_off_by_mouse_and_keys(loaded):
    page, off = loaded(OwnSentence()), []
    for name, heads in (("layer 1, head 8", [(1, 8)]), ("layer 0, head 2", [(0, 2)])):
        switch(page, name).click()
        off += heads
        words = f"Without {len(off)} head"
        vectors = [pytorch.run(TIRED, some)[1] for some in (off, [])]
        assert turned(page, words) == pytest.approx((vectors[0] @ vectors[1]).item(), abs=2e-3)
        assert far(page, TIRED, off) < NEAR
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    page.keyboard.press("Space")
    off.append((1, 11))
    turned(page, "Without 3 heads")
    assert far(page, TIRED, off) < NEAR
    assert switch(page, "layer 1, head 11").get_attribute("aria-pressed") == "false"
    small = page.get_by_role("group", name="All heads").get_by_role("button")
    assert small.filter(has=page.locator("canvas")).nth(23).get_attribute("aria-label") == (
        "layer 1, head 11, off"
    )
    switch(page, "layer 4, all heads").click()
    off += [(4, head) for head in range(12)]
    turned(page, "Without 15 heads")
    assert far(page, TIRED, off) < NEAR
    page.get_by_role("button", name="All heads on").click()
    page.get_by_text("All heads are on").wait_for()
    assert far(page, TIRED) < NEAR


def test_all_heads_off_and_the_first_sentence_again(loaded):
    page = loaded(OwnSentence())
    read(page, "the cat sat", 5)
    for layer in range(6):
        switch(page, f"layer {layer}, all heads").click()
    turned(page, "Without 72 heads")
    page.get_by_role("button", name="First sentence again").click()
    page.get_by_text("All heads are on").wait_for()
    assert page.get_by_label("text", exact=True).input_value() == TIRED
    assert far(page, TIRED) < NEAR


def test_what_is_too_long_is_cut_and_what_is_empty_refused_in_words(loaded):
    page = loaded(OwnSentence())
    read(page, "cat " * 200, 128)
    page.get_by_text("The model reads 128 tokens; the last 74 of this text are cut.").wait_for()
    read(page, "the cat", 4)
    assert page.get_by_text("are cut").count() == 0
    field = page.get_by_label("text", exact=True)
    for text in ("   ", "\u200b\u0007"):
        field.fill(text)
        field.press("Enter")
        alert = page.locator(".mhsa-notice [role=alert]")
        expect(alert).to_have_text("There is no word to read; type at least one.")
    assert field.get_attribute("aria-invalid") == "true"
    assert far(page, "the cat") < NEAR
    read(page, "the dog barked", 5)
    expect(alert).to_have_text("")


def test_hostile_text_is_only_ever_text(loaded):
    page = loaded(OwnSentence())
    text = "<img src=x onerror=alert(1)> ]] </script> \u202e [MASK]"
    read(page, text, len(quantise.MODEL().attend(text)[0]))
    assert far(page, text) < NEAR
    assert page.locator(".mhsa-own-sentence img").count() == 0
    page.get_by_label("first", exact=True).fill(text)
    page.get_by_label("first", exact=True).press("Enter")
    expect(page.locator(".mhsa-two .mhsa-picture")).to_contain_text("[MASK]", timeout=WAIT)


def test_two_sentences_are_compared_as_pytorch_does(loaded):
    page = loaded(OwnSentence())
    said = page.locator(".mhsa-alike")
    for pair in (BANK, ("I like cats.", "Cats are what I like.")):
        for name, text in zip(("first", "second"), pair, strict=True):
            page.get_by_label(name, exact=True).fill(text)
            page.get_by_label(name, exact=True).press("Enter")
        vectors = [pytorch.run(text)[1] for text in pair]
        expect(said).to_contain_text(f"{vectors[0] @ vectors[1]:.2f}", timeout=WAIT)
    two = page.get_by_role("region", name="Two sentences")
    expect(two.locator(".mhsa-said")).to_contain_text("“⁨like⁩” here and “⁨like⁩” there")
    two.get_by_role("grid").press("ArrowLeft")
    expect(two.locator(".mhsa-said")).to_contain_text("“⁨like⁩” here and “⁨i⁩” there")


def rows(page, name):
    """Heads and numbers of a table of effects, as it is sorted."""
    page.get_by_role("button", name=name).click()
    table = page.get_by_role("table", name=name)
    table.wait_for(timeout=2 * WAIT)
    cells = table.locator("tbody tr").evaluate_all(
        "all => all.map((row) => [...row.children].slice(0, 3).map((one) => one.textContent))"
    )
    return {
        name: tuple(float(n.replace("−", "-")) for n in numbers) for name, *numbers in cells
    }


def test_each_head_is_switched_off_in_both_and_the_effects_are_sorted(loaded):
    page = loaded(OwnSentence(pair=("the bank", "a river")))
    found = rows(page, "Which head changes this cosine most?")
    assert len(found) == 72
    changes = [abs(change) for _, change in found.values()]
    assert changes == sorted(changes, reverse=True)
    for layer, head in ((0, 2), (3, 1), (5, 7)):
        one, two = (pytorch.run(text, [(layer, head)])[1] for text in ("the bank", "a river"))
        cosine, _ = found[f"L{layer}H{head}"]
        assert cosine == pytest.approx((one @ two).item(), abs=3e-3)
    expect(page.get_by_text("heads stand in for each other")).to_be_visible()
    page.get_by_label("first", exact=True).fill("the river")
    page.get_by_label("first", exact=True).press("Enter")
    expect(
        page.get_by_role("table", name="Which head changes this cosine most?")
    ).to_have_count(0)


def test_the_head_that_turns_the_sentence_most_is_found(loaded):
    page = loaded(OwnSentence("the river bank"))
    page.get_by_role("button", name="Which head turns it most?").focus()
    found = rows(page, "Which head turns it most?")
    assert page.evaluate("document.activeElement.textContent") == "Which head turns it most?"
    whole = pytorch.run("the river bank")[1]
    cosines = {
        f"L{layer}H{head}": (pytorch.run("the river bank", [(layer, head)])[1] @ whole).item()
        for layer in range(6)
        for head in range(12)
    }
    assert next(iter(found)) == min(cosines, key=cosines.get)
    assert {name: cosine for name, (cosine, _) in found.items()} == pytest.approx(
        cosines, abs=1e-3
    )
