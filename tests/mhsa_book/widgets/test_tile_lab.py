"""The page counts as Python does, and its one query is that of the online softmax."""

import pytest
import torch
from playwright.sync_api import expect
from traitlets import TraitError

from mhsa_book.widgets import TileLab
from mhsa_book.widgets.tile_lab.tile_lab import MASKS, TABLES
from tests.mhsa_book.widgets.conftest import confirm, node, said, table, without_advice

STOPS = [128, 256, 512, 1024, *(1024 * kib for kib in (16, 32, 64, 128, 256))]
LARGE = "2,048 tokens, width 64"


def fitting():
    """Every state that the sliders reach, and some that are typed."""
    for name in TABLES:
        for memory in (*STOPS, 76, 5000, 100_000):
            for mask in MASKS:
                lab = TileLab(table=name, mask=mask, memory=memory)
                if lab.refusal is None:
                    yield lab


def test_the_page_counts_every_tile_as_python_does():
    labs = list(fitting())
    assert len(labs) == 99
    for lab in labs:
        found = counted(lab)
        loop = lab.loop
        names = "q_z", "k_v", "tables", "computed", "partial"
        assert found == {name: getattr(loop, name) for name in names} | {"tile": lab.tile}
        assert loop.skipped == (lab.n // lab.tile) ** 2 - loop.computed


def counted(lab):
    """What the page finds by going through all tiles."""
    module = "tile_lab/tiles"
    sizes = {"n": lab.n, "d_head": lab.d_head}
    tile, band = node(
        module,
        ("largestTile", lab.memory, *sizes.values()),
        ("bandOf", lab.mask, lab.n),
    )
    plan = sizes | {"tile": tile, "band": band}
    (rows,) = node(module, ("rowsOf", plan))
    (computed,) = node(module, ("computedOf", rows))
    (moved,) = node(module, ("movedUpTo", plan, rows, computed - 1))
    partial = sum(row["partial"] for row in rows)
    return moved | {"tile": tile, "computed": computed, "partial": partial}


def test_the_five_stages_are_those_of_python():
    labs = [TileLab(table=name) for name in TABLES]
    calls = [("movedByStages", {"n": lab.n, "d_head": lab.d_head}) for lab in labs]
    for lab, found in zip(labs, node("tile_lab/tiles", *calls), strict=True):
        stages = lab.stages
        assert found == {"q_z": stages.q_z, "k_v": stages.k_v, "tables": stages.tables}


def example(n):
    """Queries, keys and values of width 4 whose scores are the page's powers of two."""
    key = torch.arange(n)
    exponents = torch.tensor([1, 2, 0, 3])[(torch.arange(4)[:, None] + key) % 4] + 4 * key // n
    k = exponents.T.double() * torch.log(torch.tensor(2.0).double())
    q = torch.eye(4).double()[key % 4]
    return q, k, (key % 4).double()


@pytest.mark.parametrize("memory", [128, 256, 512, 1024, 16_384])
@pytest.mark.parametrize("mask", MASKS)
def test_the_query_of_every_step_keeps_what_the_online_softmax_keeps(memory, mask):
    lab = TileLab(mask=mask, memory=memory)
    n, tile, band = lab.n, lab.tile, lab.band
    q, k, v = example(n)
    allowed = band.allows(torch.arange(n)[:, None], torch.arange(n))
    ahead, behind = (n if limit is None else limit for limit in (band.ahead, band.behind))
    plan = {"n": n, "d_head": 4, "tile": tile, "band": [ahead, behind]}
    (rows,) = node("tile_lab/tiles", ("rowsOf", plan))
    places = [(i, j) for i, row in enumerate(rows) for j in range(row["first"], row["end"])]
    assert len(places) == lab.loop.computed
    steps = [("placeOf", rows, step) for step in range(len(places))]
    found = node("tile_lab/tiles", *steps)
    assert [(at["row"], at["column"]) for at in found] == places
    calls = [("running", plan, i, rows[i]["first"], j) for i, j in places]
    for (i, j), round_ in zip(places, node("tile_lab/online", *calls), strict=True):
        seen = slice(0, (j + 1) * tile)
        scores = (q[i * tile] @ k[seen].T).masked_fill(~allowed[i * tile, seen], -torch.inf)
        powers = (scores - scores.max()).exp()
        after = round_["after"]
        wanted = [scores.max().exp(), powers.sum(), powers @ v[seen]]
        got = torch.tensor([after["largest"], after["total"], after["sum"]]).double()
        torch.testing.assert_close(got, torch.stack(wanted))
        if rows[i]["end"] == j + 1:
            z = (q[i * tile] @ k.T).masked_fill(~allowed[i * tile], -torch.inf).softmax(-1) @ v
            assert after["sum"] / after["total"] == pytest.approx(z.item())


@pytest.mark.parametrize("mask", MASKS)
def test_what_is_moved_so_far_grows_to_all_of_it(mask):
    lab = TileLab(mask=mask)
    band = [16 if limit is None else limit for limit in (lab.band.ahead, lab.band.behind)]
    plan = {"n": 16, "d_head": 4, "tile": 2, "band": band}
    (rows,) = node("tile_lab/tiles", ("rowsOf", plan))
    calls = [("movedUpTo", plan, rows, step) for step in range(lab.loop.computed)]
    found = [moved["q_z"] + moved["k_v"] for moved in node("tile_lab/tiles", *calls)]
    done = [row["end"] - row["first"] for row in rows]
    wanted, so_far = [], 0
    for tiles in done:
        for i in range(tiles):
            so_far += 2 * 2 * 4 * 4 + 2 * 4 * 4 * ((i == 0) + (i == tiles - 1))
            wanted.append(so_far)
    assert found == wanted
    assert found[-1] == lab.loop.bytes


def test_the_numbers_of_the_chapter_are_the_first_thing_seen(open_figure):
    page = open_figure(TileLab())
    assert page.locator(".mhsa-moves tr").all_inner_texts() == [
        "five stages\t\t5,120 bytes",
        "this loop\t\t4,608 bytes",
        "so far\t\t160 bytes",
    ]
    kept = table(page, "What one query keeps")
    assert kept["total"] == ["1.5", "1/8 + 8/8 = 1.125", "0.5 · 1.5 + 1.125 = 1.875"]
    assert kept["sum of values"][2] == "0.5 · 1 + 3.25 = 3.75"
    assert kept["z = sum / total"][2] == "2"
    assert (
        "keep = e to the (ln 4 − ln 8) = 4/8 = 0.5" in page.locator(".mhsa-keep").inner_text()
    )


def test_the_reader_steps_plays_and_starts_over(open_figure):
    page = open_figure(TileLab())
    page.get_by_role("button", name="Next").click()
    assert said(page, "Tile 3 of 64").startswith("Tile 3 of 64: keys and values 4 to 5")
    slider = page.get_by_label("tile", exact=True)
    slider.press("End")
    assert slider.get_attribute("aria-valuetext") == "tile 64 of 64"
    assert page.get_by_role("button", name="Next").is_disabled()
    assert table(page, "Bytes read and written, by what they are")["together"] == [
        "5,120",
        "4,608",
        "4,608",
    ]
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.locator(".mhsa-said")).to_have_attribute("aria-live", "off")
    expect(slider).to_have_value("2", timeout=5000)
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".mhsa-said")).to_have_attribute("aria-live", "polite")
    page.get_by_label("mask").select_option("causal")
    assert "28 are skipped" in said(page, "of 36")
    page.get_by_role("button", name="Reset").click()
    said(page, "Tile 2 of 64")
    assert page.get_by_label("mask").input_value() == "none: all keys"


def test_who_minds_motion_has_no_button_for_it(tabs, open_figure):
    page = open_figure(TileLab(), reduced_motion="reduce")
    assert page.get_by_role("button", name="Play").count() == 0
    page.get_by_role("button", name="Next").click()
    said(page, "Tile 3 of 64")


def test_up_to_sixteen_the_loop_moves_more(open_figure):
    page = open_figure(TileLab(table=LARGE, memory=16 * 1024))
    memory = page.get_by_label("fast memory in bytes", exact=True)
    memory.press("Home")  # no stop where no tile fits
    more = {}
    for kib in (16, 32, 64, 128, 256):
        lab = TileLab(table=LARGE, memory=kib * 1024)
        expect(memory).to_have_attribute("aria-valuetext", f"{kib * 1024:,} bytes")
        stages, loop, _ = table(page, "Bytes read and written, by what they are")["together"]
        assert loop == f"{lab.loop.bytes / 1e6:.1f}"
        more[lab.tile] = float(loop) > float(stages)
        memory.press("ArrowRight")
    assert more == {8: True, 16: True, 32: False, 64: False, 128: False}


def test_fast_memory_moves_along_with_the_table_and_too_little_is_repaired(open_figure):
    page = open_figure(TileLab())
    page.get_by_label("table", exact=True).select_option(LARGE)
    assert page.get_by_text("Fast memory 256 → 65,536 bytes.").is_visible()
    confirm(page.get_by_label("fast memory in bytes, exactly"), "1024")
    lab = TileLab(table=LARGE, memory=1024)
    assert page.get_by_role("alert").inner_text() == without_advice(lab.refusal)
    page.get_by_role("button", name="memory = 1,036").click()
    assert page.get_by_role("alert").inner_text() == ""
    assert (
        "Of 1,036 bytes a tile of 1 × 1 takes 1,036"
        in page.locator(".mhsa-notice").inner_text()
    )


def test_steps_and_masks_move_nothing_else(open_figure):
    for width in (390, 1280):
        page = open_figure(TileLab(), width=width)
        tops = "() => [...document.querySelectorAll('.mhsa-body > *')].map((e) => e.offsetTop)"
        before, slider = page.evaluate(tops), page.get_by_label("tile", exact=True)
        for name in ("causal", "causal, a window of n/4"):
            page.get_by_label("mask").select_option(name)
            for _ in range(20):
                slider.press("ArrowRight")
                assert page.evaluate(tops) == before


def test_what_is_no_choice_is_refused():
    with pytest.raises(ValueError, match="mask='full' is unknown"):
        TileLab(mask="full")
    with pytest.raises(ValueError, match="table='8 tokens' is unknown"):
        TileLab(table="8 tokens")
    with pytest.raises(TraitError, match="memory"):
        TileLab(memory=0)
    assert TileLab().alt in TileLab().html().replace("&#x27;", "'")
