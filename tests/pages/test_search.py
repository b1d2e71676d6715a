"""Forty things that readers have seen, typed into the search: their place is shown."""

import pytest

from tools.check.browser import settle

FIRST = 5  # places that one sees without scrolling far
FOUND = {
    "every weight is 1": "guide-masks-softmax-axis",
    "the first row is all on one token": "guide-training-first-row",
    "NaN after the first batch": "guide-masks-scores-overflow",
    "loss falls too fast": "guide-training-flipped-triangle",
    "same output at every position": "guide-training-same-row",
    "slower with the cache": "guide-training-cross-keys-again",
    "samples leak into one another": "guide-mha-batch-first-silent",
    "padding changes the result": "guide-mha-float-padding-mask",
    "3-D mask order of heads and batch": "guide-mha-mask-3d-order",
    "No available kernel. Aborting execution": "guide-sdpa-no-kernel",
    "derivative is not implemented": "guide-sdpa-second-derivative",
    "size of tensor a must match size of tensor b kv heads": "guide-sdpa-gqa-flag",
    "value cannot be converted to type Half without overflow": "guide-masks-constant-half",
    "view size is not compatible after attention": "guide-sdpa-view-after",
    "The shape of the 3D attn_mask is": "guide-mha-mask-per-sample-shape",
    "Need attn_mask if specifying the is_causal hint": "guide-mha-is-causal-needs-mask",
    "rows sum to more than 1": "guide-masks-dropout-sums",
    "uniform attention 1/n": "guide-training-uniform-weights",
    "repeat_interleave or tile": "guide-training-repeat-or-tile",
    "rotate_half differs from reference": "guide-positions-rope-layout",
    "beam search worse with cache": "guide-training-beams",
    "6N and MFU": "guide-training-six-n",
    "FlopCounterMode zero": "guide-training-flops-zero",
    "prune heads which axis": "guide-training-prune-axis",
    "attention rollout identity": "guide-training-rollout",
    "BertViz wrong number of dimensions": "guide-training-bertviz-dimensions",
    "how to get weights from flash attention": "guide-sdpa-weights",
    "softmax plus one": "guide-sdpa-plus-one",
    "Gemma 2 softcap": "guide-sdpa-softcap",
    "True means masked or attend": "guide-masks-true-means",
    "packed sequences see each other": "guide-masks-positions-hide-nothing",
    "add_zero_attn": "guide-mha-bias-kv-zero-attn",
    "ALiBi prefers distant tokens": "guide-sdpa-flex-alibi-sign",
    "dropout random in eval": "guide-masks-dropout-eval",
    "word split into pieces": "guide-training-one-number-per-word",
    "KV cache size formula": "guide-training-cache-size",
    "different in eval": "guide-masks-dropout-eval",
    "LoRA out_proj trains nothing": "guide-positions-lora-mha",
    "why divide by the square root": "why-divide-by-d-head",
    "permutation equivariance": "term-permutation-equivariance",
}


# Names of topics, also those that other libraries use, and mistakes in typing.
TOPICS = {
    "causal mask": "06_masks",
    "padding mask": "06_masks",
    "causal masking": "06_masks",
    "attn_mask": "06_masks",
    "look-ahead mask": "06_masks",
    "multi query attention": "18_the_cache",
    "multi-query attention": "18_the_cache",
    "MQA": "18_the_cache",
    "GQA": "18_the_cache",
    "grouped query attention": "18_the_cache",
    "KV cache": "18_the_cache",
    "kv-cache": "18_the_cache",
    "KV heads": "18_the_cache",
    "num_key_value_heads": "18_the_cache",
    "RoPE": "18_the_cache",
    "rotary embeddings": "18_the_cache",
    "FlashAttention": "16_fused",
    "flash attention": "16_fused",
    "SDPA": "16_fused",
    "nan": "a3_guide_masks",
    "MLA": "19_the_latent_cache",
    "o_proj": "08_w_o",
    "out_proj": "08_w_o",
    "residual stream": "08_w_o",
    "head_dim": "04_split",
    "num_heads must divide": "04_split",
    "attention scores": "05_attend",
    "softmax": "05_attend",
    "cross attention": "10_in_a_transformer",
    "cross-attention": "10_in_a_transformer",
    "induction head": "13_induction",
    "attention sink": "25_where_it_goes_next",
    "what is attention": "01_from_averages_to_attention",
    "self-attention": "01_from_averages_to_attention",
    "multi-head attention": "02_why_more_than_one_head",
    "head pruning": "12b_which_heads_can_go",
    "tensor parallelism": "20_heads_across_devices",
    "atention": "01_from_averages_to_attention",
    "flash atention": "16_fused",
    "casual mask": "06_masks",
    "mulit-head attention": "02_why_more_than_one_head",
    "sofmax": "05_attend",
}


def ask(tab, query):
    """Type a query, and return the addresses of the places that are shown."""
    tab.fill("#search-form input", query)
    tab.press("#search-form input", "Enter")
    links = "links => links.map(link => link.getAttribute('href'))"
    return tab.eval_on_selector_all("#search-results li a", links)


def anchors(links):
    return [link.partition("#")[2] for link in links]


def test_a_symptom_leads_to_the_place_that_answers(tab, address, say):
    tab.goto(f"{address}/search.html", wait_until="load")
    places = {query: anchors(ask(tab, query)) for query in FOUND}
    rank = {
        q: places[q].index(found) if found in places[q] else 99 for q, found in FOUND.items()
    }
    first = sum(each == 0 for each in rank.values())
    say("Search", [f"{first} of {len(FOUND)} symptoms lead to their place at once"])
    assert len(FOUND) >= 40
    assert {q: places[q][:FIRST] for q in FOUND if rank[q] >= FIRST} == {}


def test_a_topic_leads_to_its_page(tab, address):
    tab.goto(f"{address}/search.html", wait_until="load")
    first = {query: ask(tab, query)[:1] for query in TOPICS}
    missed = {
        query: first[query] for query, page in TOPICS.items() if page not in first[query][0]
    }
    assert missed == {}


def test_every_name_of_a_topic_leads_to_the_page_that_has_it(tab, address):
    tab.goto(f"{address}/search.html", wait_until="load")
    wrong = tab.evaluate(
        "PAGES.flatMap(({topics, page}) => topics.map(topic => [topic, page]))"
        ".filter(([topic, page]) => find(topic)[0].place.page !== page)"
    )
    assert wrong == []


def test_a_mistake_in_typing_does_not_empty_the_list(tab, address):
    tab.goto(f"{address}/search.html", wait_until="load")
    for query in ("atention", "sofmax", "roatry", "prunning", "perplexty", "tranformer"):
        assert len(ask(tab, query)) >= 3, query


def test_a_chapter_and_the_guide_come_before_the_api(tab, address):
    tab.goto(f"{address}/search.html", wait_until="load")
    for query in ("causal mask", "split heads", "scaled dot product", "latent cache"):
        pages = [link.partition("?")[0] for link in ask(tab, query)]
        first = next((i for i, page in enumerate(pages) if page.startswith("book/api")), 99)
        assert first >= 3, (query, pages)


def test_a_name_of_the_api_is_found_too(tab, address):
    tab.goto(f"{address}/search.html", wait_until="load")
    assert ask(tab, "prune_heads")[0].startswith(("book/api", "notebooks/12b", "notebooks/a3"))
    assert "mhsa_book.widgets.HeadBudget" in anchors(ask(tab, "HeadBudget"))


def test_what_was_found_is_marked_where_it_stands(tab, address):
    tab.goto(f"{address}/search.html?q=softmax+plus+one", wait_until="load")
    found = tab.locator("#search-results li").first.locator("mark").all_inner_texts()
    assert found
    assert {word.lower() for word in found} <= {"softmax", "plus", "one"}
    tab.locator("#search-results li a").first.click()
    tab.wait_for_url("**/a3_guide_sdpa.html#guide-sdpa-plus-one")  # not what was asked
    settle(tab)
    marked = tab.evaluate(
        "[...CSS.highlights.get('book-found')].map(range => range.toString())"
    )
    assert {word.lower() for word in marked} >= {"softmax", "plus", "one"}
    inside = (
        "[...CSS.highlights.get('book-found')].every(r => "
        "document.getElementById('guide-sdpa-plus-one').closest('section').contains(r.startContainer))"
    )
    assert tab.evaluate(inside)


def test_the_address_and_the_field_keep_what_was_asked(tab, address):
    tab.goto(f"{address}/search.html?q=beam+search", wait_until="load")
    assert tab.input_value("#search-form input") == "beam search"
    ask(tab, "rollout")
    tab.wait_for_url("**/search.html?q=rollout")


@pytest.mark.parametrize("query", ["<img src=x onerror=alert(1)>", "zzqqxx", "   "])
def test_nothing_found_is_said_and_text_stays_text(tab, address, query):
    tab.goto(f"{address}/search.html", wait_until="load")
    ask(tab, query)
    said = tab.inner_text("#search-said")
    assert said.startswith("Nothing found") or "places" in said or not query.strip()
    assert tab.locator("#search-results img").count() == 0


def test_more_places_are_shown_on_request_and_the_first_of_them_has_the_focus(tab, address):
    tab.goto(f"{address}/search.html?q=attention", wait_until="load")
    assert tab.locator("#search-results li").count() == 20
    tab.get_by_role("button", name="Show").click()
    assert tab.locator("#search-results li").count() > 20
    assert tab.locator("#search-results li").nth(20).locator("a:focus").count() == 1


def test_what_is_called_as_it_was_asked_for_comes_first(tab, address):
    tab.goto(f"{address}/search.html", wait_until="load")
    assert ask(tab, "head")[0].endswith("glossary.html?found=head#term-head")
    assert "which_attention.html" in ask(tab, "which attention")[0]
