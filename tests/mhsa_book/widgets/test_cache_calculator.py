"""The cache calculator: the bytes of ``configurations``, in Python and on the page."""

import random

import pytest
from traitlets import TraitError

from mhsa_book import costs
from mhsa_book.costs.configurations import ACCELERATORS, CONFIGURATIONS, LATENT, find
from mhsa_book.widgets import CacheCalculator
from mhsa_book.widgets.cache_calculator import MODELS, NUMBER_BYTES, OPTIONS, OWN, SIZES, sizes
from mhsa_lib import checks
from tests.mhsa_book.widgets.conftest import (
    allowed,
    confirm,
    milliseconds,
    node,
    said,
    table,
    without_advice,
)


def test_every_model_keeps_the_bytes_of_its_configuration():
    for model in MODELS:
        shown = CacheCalculator(model=model.name, tokens=1000, sequences=3, dtype="float32")
        assert shown.cache_bytes == model.cache_bytes(1000, batch=3, itemsize=4), model.name


def test_the_page_computes_what_python_computes():
    rng, figures = random.Random(3), []
    for _ in range(150):
        own = {name: rng.randint(1, 96) for name in SIZES}
        own["n_heads"] = own["n_kv_heads"] * rng.randint(1, 5)
        load = {"tokens": rng.randint(1, 10**6), "sequences": rng.randint(1, 99)}
        chip = {"accelerator": rng.choice(ACCELERATORS).name}
        dtype = {"dtype": rng.choice(OPTIONS["dtype"])}
        figures.append(CacheCalculator(model=OWN, **own, **load, **chip, **dtype))
    calls = []
    for figure in figures:
        load = {"tokens": figure.tokens, "sequences": figure.sequences}
        load |= {"itemsize": NUMBER_BYTES[figure.dtype]}
        chip = next(c for c in figure.accelerators if c["name"] == figure.accelerator)
        calls.append(("cacheOf", figure.sizes, load, chip))
    kinds = set()
    for figure, rows in zip(figures, node("cache_calculator/caches", *calls), strict=True):
        chip, s = find(figure.accelerator, ACCELERATORS), figure.sizes
        itemsize = NUMBER_BYTES[figure.dtype]
        for row in rows:
            kind = row["kind"]
            kinds.add(kind)
            assert row["numbers"] == figure.kept[kind]
            assert row["token"] == s["layers"] * itemsize * figure.kept[kind]
            assert row["total"] == figure.total(kind)
            one = figure.total(kind) // figure.sequences
            assert row["fit"] == chip.memory // one
            assert row["seconds"] == pytest.approx(figure.total(kind) / chip.bandwidth)
        heads = {"layers": s["layers"], "batch": figure.sequences, "itemsize": itemsize}
        expected = costs.cache_bytes(figure.tokens, s["n_kv_heads"], s["d_head"], **heads)
        assert figure.cache_bytes == expected
    assert kinds == {"MHA", "GQA", "MQA", "MLA"}


def test_the_caches_that_are_known():
    gib = [
        CacheCalculator(model=f"Llama 3.1 {size}").cache_bytes / 2**30
        for size in ("8B", "70B", "405B")
    ]
    assert gib == [16, 40, 63]
    assert CacheCalculator(model="DeepSeek-V3", tokens=1).cache_bytes == 70_272
    kept = CacheCalculator(model="DeepSeek-V3").kept
    assert round(kept["MHA"] / kept["MLA"], 1) == 56.9
    assert "is 16, one H200 SXM has 131." in CacheCalculator().alt


def test_a_latent_is_compared_with_heads_and_heads_with_a_latent():
    llama = sizes(find("Llama 3.1 8B"))
    assert (llama["kind"], llama["d_latent"], llama["d_rope"]) == ("GQA", 512, 64)
    for latent in LATENT:
        found = sizes(latent)
        assert (found["kind"], found["n_kv_heads"]) == ("MLA", 8)
        assert (
            found["d_latent"] + found["d_rope"]
            == CacheCalculator(model=latent.name).kept["MLA"]
        )
        assert all(isinstance(found[name], int) for name in SIZES)


@pytest.mark.parametrize("trait", list(OPTIONS))
def test_a_word_that_is_no_choice_is_answered_with_the_choices(trait):
    with pytest.raises(ValueError, match=f"{trait}='<b>' is unknown; choose one of"):
        CacheCalculator(**{trait: "<b>"})


@pytest.mark.parametrize(
    "wrong", [{"tokens": 0}, {"sequences": 5000}, {"d_rope": 1.5}, {"layers": 1000}]
)
def test_a_size_outside_its_dial_is_refused(wrong):
    with pytest.raises(TraitError, match=next(iter(wrong))):
        CacheCalculator(**wrong)


def test_the_page_carries_the_data_and_nothing_else():
    page = CacheCalculator().html()
    assert "DeepSeek-V3" in page
    assert len(page) < 200_000
    own = {"tokens", "sequences", "models", "accelerators", *OPTIONS, *SIZES}
    assert set(CacheCalculator().state()) == own
    assert len(CacheCalculator().models) == len(CONFIGURATIONS) + len(LATENT)


# --- in the browser ------------------------------------------------------------------------


def test_it_says_what_a_real_model_keeps(open_figure):
    page = open_figure(CacheCalculator())
    words = said(page, "131,072 bytes in all")
    assert words.startswith("GQA: 8 of 32 heads keeps 2,048 numbers of a token in each of 32")
    assert "takes 12 % of the 131 GiB of one H200 SXM" in words
    assert (
        "1 sequence of 131,072 tokens; without weights and anything else there is room for 8."
        in words
    )
    assert words.endswith("takes 3.58 ms or more.")
    bars = table(page, "The cache, beside")
    assert bars["GQA: 8 of 32 heads, configured"][-1] == "16 GiB"
    assert bars["MHA: 32 of 32 heads"][-1] == "64 GiB"
    rows = table(page, "What each kind keeps")
    assert rows["MLA"][:2] == ["576", "36,864"]
    assert rows["MHA"][-1] == "14.3 ms"


def test_every_choice_is_operated(open_figure):
    page = open_figure(CacheCalculator())
    page.get_by_label("model").select_option("DeepSeek-V3")
    assert page.get_by_label("kind", exact=True).input_value() == "MLA"
    bars = table(page, "The cache, beside")
    assert bars["MLA: latent 512 + 64, configured"][-1] == "8.58 GiB"
    assert page.locator("tr.mhsa-chosen th").first.text_content().startswith("MLA")
    page.get_by_label("kind", exact=True).select_option("MQA")
    said(page, "MQA: 1 of 128 heads keeps 256 numbers of a token in each of 61 layers")
    page.get_by_label("model").select_option("GPT-2")  # the kind is the model's again
    assert page.get_by_label("kind", exact=True).input_value() == "MHA"
    assert page.locator("option:disabled").text_content() == "GQA"
    page.get_by_label("dtype").select_option("int8")
    page.get_by_label("accelerator", exact=True).select_option("T4")
    confirm(page.get_by_label("sequences, exactly"), "16")
    page.get_by_label("tokens", exact=True).focus()
    page.keyboard.press("ArrowLeft")
    assert page.get_by_label("tokens, exactly").input_value() == "65536"
    words = said(page, "16 sequences of 65,536 tokens")
    assert "The cache of 18 GiB does not fit: it is 1.2 times the 14.9 GiB of one T4" in words


def test_turning_a_size_makes_the_sizes_ones_own(open_figure):
    page = open_figure(CacheCalculator(model="DeepSeek-V3"))
    confirm(page.get_by_label("layers, exactly"), "10")
    assert page.get_by_label("model").input_value() == OWN
    assert page.get_by_label("kind", exact=True).input_value() == "MLA"
    assert table(page, "What each kind keeps")["MLA"][:2] == ["576", "11,520"]
    confirm(page.get_by_label("d_latent, exactly"), "100")
    assert table(page, "What each kind keeps")["MLA"][:2] == ["164", "3,280"]
    page.get_by_label("model").select_option("Llama 3.1 70B")
    assert page.get_by_label("layers, exactly").input_value() == "80"
    page.get_by_label("model").select_option(OWN)  # begins with the sizes in sight
    assert page.get_by_label("layers, exactly").input_value() == "80"
    assert table(page, "What each kind keeps")["GQA"][1] == "327,680"


def test_heads_for_keys_are_there_where_the_kind_shares_them(open_figure):
    page = open_figure(CacheCalculator())
    heads, kind = (
        page.get_by_label("n_kv_heads, exactly"),
        page.get_by_label("kind", exact=True),
    )
    law = page.locator(".mhsa-notice .mhsa-quiet")
    assert (heads.is_visible(), law.inner_text()) == (
        True,
        "n_kv_heads divides n_heads: 32 / 8 = 4.",
    )
    for name in ("MHA", "MQA", "MLA"):
        kind.select_option(name)
        assert (heads.is_visible(), law.inner_text()) == (False, "")
    kind.select_option("GQA")
    assert heads.is_visible()
    page.get_by_label("model").select_option("DeepSeek-V3")
    assert not heads.is_visible()
    page.get_by_label("model").select_option("GPT-2")
    confirm(heads, "4")  # a plain model's heads can be shared
    assert kind.input_value() == "GQA"
    confirm(heads, "12")
    assert (kind.input_value(), heads.is_visible()) == ("MHA", True)


def test_heads_that_do_not_divide_are_explained(open_figure):
    page = open_figure(CacheCalculator())
    confirm(page.get_by_label("n_kv_heads, exactly"), "5")
    with pytest.raises(ValueError, match="n_kv_heads=5") as raised:
        checks.divides(n_heads=32, n_kv_heads=5)
    assert page.get_by_role("alert").text_content() == without_advice(raised.value)
    assert table(page, "What each kind keeps")["GQA"][0] == "2,048"  # the last good state
    confirm(page.get_by_label("n_kv_heads, exactly"), "4")
    assert page.get_by_role("alert").text_content() == ""
    assert table(page, "What each kind keeps")["GQA"][0] == "1,024"


def test_python_that_starts_with_heads_that_do_not_divide(open_figure):
    page = open_figure(CacheCalculator(model=OWN, n_kv_heads=5))
    assert "n_kv_heads=5 does not divide" in page.get_by_role("alert").text_content()
    assert page.get_by_role("table").count() == 0  # nothing is drawn yet
    confirm(page.get_by_label("n_kv_heads, exactly"), "8")
    assert table(page, "What each kind keeps")["GQA"][0] == "2,048"


@pytest.mark.parametrize("typed", ["", "0", "-1", "2.5", "1e300", "16777217"])
def test_what_is_no_size_is_said_and_changes_nothing(open_figure, typed):
    page = open_figure(CacheCalculator())
    confirm(page.get_by_label("tokens, exactly"), typed)
    alert = page.get_by_role("alert").text_content()
    assert "tokens must be a whole number from 1 to 16777216" in alert
    bars = table(page, "The cache, beside")
    assert bars["GQA: 8 of 32 heads, configured"][-1] == "16 GiB"


@pytest.mark.parametrize(("width", "theme"), [(390, "dark"), (390, "light"), (1000, "dark")])
def test_it_fits_its_column_with_the_largest_numbers(open_figure, width, theme):
    most = {"tokens": 16_777_216, "sequences": 4096, "dtype": "float32", "kind": "MHA"}
    figure = CacheCalculator(model="Llama 3.1 405B", **most)
    page = open_figure(figure, width=width, theme=theme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    text = page.locator(".mhsa-cache-calculator .mhsa-body").text_content()
    for word in ("NaN", "undefined", "Infinity"):
        assert word not in text


def test_turning_a_dial_is_quick(open_figure, report):
    page = open_figure(CacheCalculator())
    page.locator("input[type=range] >> nth=0").evaluate("input => input.id = 'measured'")
    took = milliseconds(page, "#measured", "keydown", ("ArrowRight", "ArrowLeft"))
    report(f"cache calculator: {took:.1f} ms a step of a dial")
    assert took < allowed(page, 50)
