"""Who holds what: the page counts as Python does, and its picture shows what is counted."""

from itertools import product

import pytest
from playwright.sync_api import expect
from traitlets import TraitError

from mhsa_book.costs import sharing
from mhsa_book.widgets import RanksLab
from mhsa_book.widgets.ranks_lab.ranks_lab import OPTIONS, SIZES
from tests.mhsa_book.widgets.conftest import confirm, node, said, table, without_advice
from tests.mhsa_book.widgets.dials import along

SMALL = "4 heads of width 3"
CHOICES = list(product(*OPTIONS.values()))


def layer(lab):
    return vars(lab.layer)


@pytest.mark.parametrize(("model", "kind", "cut"), CHOICES)
def test_the_page_counts_every_share_as_python_does(model, kind, cut):
    labs = [RanksLab(model=model, kind=kind, cut=cut, ranks=n) for n in range(1, 65)]
    wrong = node(
        "ranks_lab/shares", *(("refusedOf", layer(lab), cut, lab.ranks) for lab in labs)
    )
    assert wrong == [without_advice(lab.refusal) if lab.refusal else "" for lab in labs]
    fitting = [lab for lab in labs if lab.refusal is None]
    calls = [("shareOf", layer(lab), cut, lab.ranks) for lab in fitting]
    for lab, found in zip(fitting, node("ranks_lab/shares", *calls), strict=True):
        assert found == vars(lab.share)
    (sizes,) = node("ranks_lab/shares", ("layerOf", SIZES[model], kind))
    assert sizes == layer(labs[0])


@pytest.mark.parametrize(("model", "kind", "cut"), CHOICES)
def test_parts_of_the_picture_are_those_that_are_counted(model, kind, cut):
    first = RanksLab(model=model, kind=kind, cut=cut)
    if cut == sharing.EXCHANGED and kind == "latent":
        return
    for ranks in sharing.possible(first.layer, cut):
        lab = RanksLab(model=model, kind=kind, cut=cut, ranks=ranks)
        parts = drawn(lab)
        name = {"latent": "latents"}.get(kind, "heads of keys")
        held = [part["end"] - part["first"] for part in parts[name]]
        count = parts[name][0]["count"]
        one = sharing.share(lab.layer, cut, 1).kept
        tokens = parts["tokens of x"][0]
        share_of_tokens = (tokens["end"] - tokens["first"]) / tokens["count"]
        of_heads = share_of_tokens if name == "heads of keys" else 1
        assert {n / count * of_heads * one for n in held} == {lab.share.kept}
        alone = [part for part in parts[name] if not part["copy"]]
        if cut == sharing.BY_HEADS:  # together they are the whole, each part once
            assert sum(part["end"] - part["first"] for part in alone) == count


def drawn(lab):
    """Parts of all ranks, by the names of the rows that hold some."""
    (rows,) = node("ranks_lab/rank_rows", ("rowsOfRanks", layer(lab), lab.cut, lab.ranks))
    return {row["name"]: row["parts"] for row in rows if "parts" in row}


def test_the_reader_doubles_the_ranks_until_keys_are_copied(open_figure):
    page = open_figure(RanksLab())
    dial = page.get_by_label("ranks", exact=True)
    assert table(page, "Bytes held and sent") == {
        "held: matrices": ["272 MiB", "1.06 GiB", "1.06 GiB"],
        "held: keys and values": ["4 MiB", "16 MiB", "16 MiB"],
        "sent: sum of y": ["192 MiB", "768 MiB", "0 bytes"],
    }
    dial.press("ArrowRight")
    assert page.locator("svg text", has_text="copy").count() == 2 * 7  # x and y
    dial.press("ArrowRight")
    assert table(page, "Bytes held and sent")["held: keys and values"][:2] == [
        "2 MiB",
        "32 MiB",
    ]
    assert "Every head of keys is there 2 times." in said(page, "16 ranks")
    assert page.get_by_text("Left out: ranks 7 to 14.").is_visible()
    assert page.locator("svg text", has_text="1, copy").count() >= 2
    page.get_by_role("button", name="Reset").click()
    said(page, "Each of 4 ranks has 32 of 128 query heads and 2 of 8 heads of keys")


def test_ranks_move_along_with_the_cut_and_it_says_why(open_figure):
    page = open_figure(RanksLab(ranks=32))
    page.get_by_label("cut by").select_option("tokens, heads exchanged")
    assert along(page) == "ranks 32 → 8: 32 ranks cannot share n_kv_heads=8 evenly."
    assert page.locator(".mhsa-sends").count() == 2 * 8 * 8
    assert page.get_by_label("keys").locator("option:disabled").all_inner_texts() == ["latent"]
    page.set_viewport_size({"width": 700, "height": 900})  # is no change
    page.wait_for_timeout(50)
    assert along(page).startswith("ranks 32 → 8")
    page.get_by_label("keys").select_option("a head of keys each")
    page.get_by_label("ranks", exact=True).press("Home")
    assert along(page) == ""
    page.get_by_label("ranks", exact=True).press("End")
    said(page, "Each of 64 ranks has 64 tokens of 4,096")


def test_what_cannot_be_is_explained_and_repaired(open_figure):
    page = open_figure(RanksLab(cut=sharing.EXCHANGED))
    confirm(page.get_by_label("ranks, exactly"), "16")
    lab = RanksLab(cut=sharing.EXCHANGED, ranks=16)
    alert = page.get_by_role("alert")
    expect(alert).to_have_text(without_advice(lab.refusal))
    page.get_by_role("button", name="ranks = 8").click()
    expect(alert).to_have_text("")
    lab = RanksLab(cut=sharing.EXCHANGED, kind="latent")
    page = open_figure(lab)
    expect(page.get_by_role("alert")).to_have_text(without_advice(lab.refusal))
    page.get_by_role("button", name="cut by heads").click()
    said(page, "All latents, and W_DKV that makes them, are there 4 times.")


def test_cuts_and_ranks_move_nothing_below_them(open_figure):
    for width in (390, 1280):
        page = open_figure(RanksLab(), width=width)
        tops = "() => [...document.querySelectorAll('.mhsa-body > *')].map((e) => e.offsetTop)"
        before = page.evaluate(tops)
        for cut in (*sharing.CUTS, sharing.BY_HEADS):
            page.get_by_label("cut by").select_option(cut)
            for key in ("Home", "ArrowRight", "ArrowRight", "End"):
                page.get_by_label("ranks", exact=True).press(key)
                page.wait_for_timeout(300)
                assert page.evaluate(tops) == before


def test_what_is_no_choice_is_refused():
    with pytest.raises(ValueError, match="cut='rows' is unknown"):
        RanksLab(cut="rows")
    with pytest.raises(TraitError, match="ranks"):
        RanksLab(ranks=65)
    assert RanksLab().alt.startswith("Bars in MiB, one of 4 ranks, Llama 3.1 405B cut by heads")
