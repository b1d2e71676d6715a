"""A mask in both polarities and forms: copied, side by side, and handed to the wrong API."""

import re

import torch
from playwright.sync_api import expect
from torch import nn
from torch.nn.functional import scaled_dot_product_attention as sdpa

from mhsa_lib import functional, masks
from tests.mhsa_book.widgets.conftest import node
from tests.mhsa_book.widgets.mask_lab.grid import cell, shown, written
from tests.mhsa_book.widgets.mask_lab.random_masks import random_cases
from tests.mhsa_book.widgets.six_words import mask_lab


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
        wanted = functional.softmax(q * size**-0.5, mask[None])
        module = nn.MultiheadAttention(size, 1, bias=False, batch_first=True)
        with torch.no_grad():
            module.in_proj_weight.copy_(torch.eye(size).repeat(3, 1))
        for text in (module_text, added_text):
            found = module(q, eye, eye, attn_mask=made(text))[1]
            torch.testing.assert_close(found, wanted, atol=1e-5, rtol=0)
        for text in (sdpa_text, added_text):
            found = sdpa(q, eye, eye, attn_mask=made(text))
            torch.testing.assert_close(found, wanted, atol=1e-5, rtol=0)


def test_both_polarities_stand_side_by_side_and_can_be_copied(open_figure):
    page = open_figure(mask_lab(kind="sliding window", n=2))
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
    page, lab = open_figure(mask_lab()), mask_lab()
    wrong = functional.softmax(torch.tensor(lab.scores), ~lab.mask[None])[0]
    assert shown(page, "Weights after the mistake") == written(wrong, ~lab.mask)
    said = page.locator(".mhsa-three > div").last.inner_text()
    assert "1 of 6 queries is left with nothing" in said


def test_the_additive_form_is_one_tensor_for_both(open_figure):
    page, lab = open_figure(mask_lab()), mask_lab()
    page.get_by_label("form", exact=True).select_option("additive")
    texts = page.locator(".mhsa-text pre").all_inner_texts()
    assert texts[0] == texts[1]
    assert torch.equal(masks.from_additive(made(texts[0])), lab.mask)
    wrong = torch.softmax(torch.tensor(lab.scores[0]) + lab.mask.float(), dim=-1)
    everything = torch.ones(6, 6, dtype=torch.bool)
    assert shown(page, "Weights after the mistake") == written(wrong, everything)
    share = round(100 * (wrong * ~lab.mask).sum(dim=-1).mean().item())
    assert f"{share} % of the weight" in page.locator(".mhsa-three > div").last.inner_text()
