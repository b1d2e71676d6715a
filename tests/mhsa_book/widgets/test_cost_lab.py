"""The cost lab: the same integers as ``costs`` and ``roofline``, the same words as the data."""

import random

import pytest
from traitlets import TraitError

from mhsa_book import costs
from mhsa_book.costs import roofline
from mhsa_book.costs.configurations import ACCELERATORS, CONFIGURATIONS, Configuration
from mhsa_book.widgets import CostLab
from mhsa_book.widgets.cost_lab import NUMBER_BYTES, OPTIONS
from tests.mhsa_book.widgets.conftest import node

EXACT = 2**53  # the largest whole numbers that JavaScript tells apart


def same(found: float, expected: float) -> bool:
    if isinstance(expected, int) and expected < EXACT:
        return found == expected
    return found == pytest.approx(expected, rel=1e-12)


def drawn(rng: random.Random) -> Configuration:
    n_kv_heads, group = rng.randint(1, 16), rng.randint(1, 8)
    sizes = rng.randint(1, 130), rng.randint(1, 16_384), n_kv_heads * group, n_kv_heads
    return Configuration("drawn", *sizes, rng.randint(1, 256), rng.choice(["", "QKV", "QKVO"]))


def test_every_formula_equals_python_for_random_sizes():
    rng, calls, expected = random.Random(7), [], []
    for _ in range(300):
        model = drawn(rng)
        n_query, n_key = rng.randint(1, 5000), rng.randint(1, 1_048_576)
        batch, fused = rng.randint(1, 512), rng.random() < 0.5
        itemsize, cache_itemsize = rng.choice([1, 2, 4]), rng.choice([1, 2, 4])
        shape = {"n_kv_heads": model.n_kv_heads, "d_head": model.d_head, "batch": batch}
        given = {"d_model": model.d_model, "n_heads": model.n_heads, **shape}
        given |= {"layers": model.layers, "biases": model.biases}
        tokens = {"n_query": n_query, "n_key": n_key, "batch": batch, "itemsize": itemsize}
        tokens |= {"cache_itemsize": cache_itemsize, "fused": fused}
        calls += [
            ("layerParameters", given),
            ("cacheBytes", given, n_key, batch, cache_itemsize),
            ("activationBytes", given, tokens),
            ("stageWork", given, tokens),
        ]
        wires = costs.bytes_of(
            n_query, model.d_model, model.n_heads, n_key=n_key, **shape, itemsize=itemsize
        )
        left_out = {"k", "v", "scores", "weights"} if fused else {"k", "v"}
        work = roofline.stages(
            n_query, model.d_model, model.n_heads, n_key=n_key, **shape,
            itemsize=itemsize, cache_itemsize=cache_itemsize, fused=fused,
        )  # fmt: skip
        expected += [
            model.parameters(),
            model.cache_bytes(n_key, batch=batch, itemsize=cache_itemsize),
            sum(size for wire, size in wires.items() if wire not in left_out),
            {name: (w.flops, w.bytes, w.intensity) for name, w in work.items()},
        ]
    exact = 0
    for (name, *_), found, right in zip(
        calls, node("shared/costs", *calls), expected, strict=True
    ):
        if name == "stageWork":
            found = {stage: tuple(found[stage].values()) for stage in found}
            assert list(found) == list(right)
            assert all(
                same(a, b) for s in right for a, b in zip(found[s], right[s], strict=True)
            )
        elif name == "layerParameters":
            assert found == right
        else:
            assert same(found, right), name
            exact += right < EXACT
    assert exact > 300


def test_the_roof_equals_python():
    rng, calls, expected = random.Random(8), [], []
    for _ in range(200):
        work = roofline.Work(rng.randint(1, 10**15), rng.randint(1, 10**12))
        chip = rng.choice(ACCELERATORS)
        peak = rng.choice(list(chip.peak.values()))
        given = {"flops": work.flops, "bytes": work.bytes, "intensity": work.intensity}
        calls.append(("underRoof", given, peak, chip.bandwidth))
        ridge = roofline.ridge(peak, chip.bandwidth)
        expected.append(
            {
                "ridge": ridge,
                "attainable": min(peak, work.intensity * chip.bandwidth),
                "seconds": roofline.seconds(work, peak, chip.bandwidth),
                "limit": "memory" if work.intensity < ridge else "arithmetic",
            }
        )
    found = node("shared/costs", *calls)
    assert {row["limit"] for row in found} == {"memory", "arithmetic"}
    for row, right in zip(found, expected, strict=True):
        assert row.pop("limit") == right.pop("limit")
        assert row == pytest.approx(right, rel=1e-12)


def test_every_model_and_variant_has_the_cache_of_the_figure():
    labs = [
        CostLab(model=model.name, variant=variant, context=131_072, batch=3, cache_dtype="int8")
        for model in CONFIGURATIONS
        for variant in OPTIONS["variant"]
    ]
    state = {"phase": "decode", "context": 131_072, "batch": 3, "dtype": "float32"}
    state |= {"cache_dtype": "int8", "fused": True, "accelerator": labs[0].accelerators[0]}
    rows = {model["name"]: model for model in labs[0].models}
    calls = [("costOf", state | {"model": rows[x.model], "variant": x.variant}) for x in labs]
    for lab, found in zip(labs, node("cost_lab/variants", *calls), strict=True):
        model = lab.configuration
        assert found["caches"][lab.variant] == lab.cache_bytes
        assert found["weights"] == 4 * model.layers * sum(model.parameters().values())
        assert len(found["stages"]) == 6


def test_the_caches_that_are_known():
    gib = [
        CostLab(model=f"Llama 3.1 {size}").cache_bytes / 2**30 for size in ("8B", "70B", "405B")
    ]
    assert gib == [16, 40, 63]
    assert CostLab(variant="MHA").cache_bytes == 64 * 2**30
    assert "is 16, one H200 SXM has 131." in CostLab().alt


@pytest.mark.parametrize("trait", list(OPTIONS))
def test_a_word_that_is_no_choice_is_answered_with_the_choices(trait):
    with pytest.raises(ValueError, match=f"{trait}='<b>' is unknown; choose one of"):
        CostLab(**{trait: "<b>"})


def test_a_size_outside_its_dial_is_refused():
    with pytest.raises(TraitError, match="context"):
        CostLab(context=2**21)
    with pytest.raises(TraitError, match="batch"):
        CostLab(batch=0)


def test_the_page_carries_the_data_and_nothing_else():
    page = CostLab().html()
    assert "Llama 3.1 405B" in page
    assert len(page) < 200_000
    assert set(CostLab().state()) == {
        *OPTIONS,
        "context",
        "batch",
        "fused",
        "models",
        "accelerators",
    }


def test_the_dtypes_are_those_of_the_page():
    assert set(OPTIONS["dtype"]) <= set(NUMBER_BYTES)
    assert {dtype for chip in ACCELERATORS for dtype in chip.peak} == set(OPTIONS["dtype"])
