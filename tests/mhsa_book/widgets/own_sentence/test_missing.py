"""Without a worker, memory or files the stored sentence stays; Python hears nothing."""

import pytest
from playwright.sync_api import expect

from mhsa_book.widgets import OwnSentence
from mhsa_book.widgets.own_sentence import quantise
from mhsa_book.widgets.own_sentence.own_sentence import TIRED
from tests.mhsa_book.widgets.own_sentence.reader import (
    NEAR,
    WAIT,
    far,
    load,
    read,
    switch,
    turned,
)
from tests.mhsa_book.widgets.plain_model import mount_again

NO_WORKER = "() => { window.Worker = class { constructor() { throw Error('not here'); } }; }"


def test_where_no_worker_may_run_the_stored_sentence_stays(open_figure, beside):
    page = open_figure(OwnSentence())
    page.evaluate(NO_WORKER)
    page.get_by_role("button", name="Load the model").click()
    alert = page.locator(".mhsa-own-sentence > .mhsa-body > [role=alert]")
    expect(alert).to_have_text(
        "The model could not start here (not here); what it has shown stays.", timeout=WAIT
    )
    assert far(page, TIRED) < NEAR


def test_where_the_model_stops_the_last_maps_stay_and_the_page_says_so(open_figure, beside):
    page = load(open_figure(OwnSentence()))
    read(page, "a small cat", 5)
    page.evaluate("""() => { Worker.prototype.postMessage = function stop() {
      this.dispatchEvent(new ErrorEvent("error", { message: "out of memory" })); }; }""")
    field = page.get_by_label("text", exact=True)
    field.fill("another one")
    field.press("Enter")
    alert = page.locator(".mhsa-own-sentence > .mhsa-body > [role=alert]")
    expect(alert).to_have_text(
        "The model has stopped; load this page anew to start it again (out of memory); "
        "what it has shown stays."
    )
    assert far(page, "a small cat") < NEAR


def test_who_has_to_wait_is_told_so(open_figure, beside):
    page = load(open_figure(OwnSentence()))
    page.evaluate("""() => { const send = Worker.prototype.postMessage;
      Worker.prototype.postMessage = function late(...about) {
        setTimeout(() => send.apply(this, about), 1000); }; }""")
    said = page.locator(".mhsa-notice")
    read(page, "a small cat", 5, first=lambda: expect(said).to_have_text("The model reads …"))
    expect(said).to_have_text("")


def test_a_model_whose_figure_is_gone_before_it_has_started_ends(open_figure, beside):
    figure = OwnSentence()
    page = open_figure(figure)
    page.evaluate("""() => { [window.begun, window.ended] = [0, 0];
      const { postMessage, terminate } = Worker.prototype;
      Worker.prototype.postMessage = function heard(...about) {
        begun += 1; end(); postMessage.apply(this, about); };
      Worker.prototype.terminate = function over() { ended += 1; terminate.apply(this); }; }""")
    mount_again(page, figure)
    page.get_by_role("button", name="Load the model").click()
    page.wait_for_function("begun === 1 && ended === 1", timeout=WAIT)


def test_where_memory_is_short_the_page_says_so(open_figure, beside):
    page = open_figure(OwnSentence())
    page.evaluate("""() => { const All = Uint8Array;
      window.Uint8Array = class extends All { constructor(...about) {
        if (about[0] > 1e7) throw new RangeError("Array buffer allocation failed");
        super(...about); } }; }""")
    page.get_by_role("button", name="Load the model").click()
    expect(page.locator(".mhsa-loading [role=alert]")).to_have_text(
        "This device has too little free memory for the model."
    )
    assert far(page, TIRED) < NEAR


def test_where_a_file_is_missing_the_page_says_so(open_figure, beside, folder):
    page = open_figure(OwnSentence())
    key = quantise.asset().key
    page.evaluate(f"""() => {{ const map = (window.mhsaAssets ??= new Map());
      map.set = (key, text) => key === "{key}.3" ? map : Map.prototype.set.call(map, key, text);
    }}""")
    page.get_by_role("button", name="Load the model").click()
    alert = page.locator(".mhsa-loading [role=alert]")
    expect(alert).to_contain_text(f"{key}.3.js is not beside this page", timeout=WAIT)
    assert far(page, TIRED) < NEAR


# --- Python ----------------------------------------------------------------------------------


def test_python_sets_the_sentence_and_is_told_nothing(open_figure, beside):
    page = open_figure(OwnSentence())
    mount_again(page, OwnSentence())
    load(page)
    page.evaluate("model.set('sentence', 'the cat')")
    page.wait_for_function(
        "document.querySelector('.mhsa-cells').ariaRowCount === '4'", timeout=WAIT
    )
    read(page, "my own words", 5)
    switch(page, "layer 0, head 0").click()
    turned(page, "Without 1 head")
    page.get_by_label("sort").select_option("first")
    assert page.evaluate("saved") == 0
    assert page.evaluate("model.get('sentence')") == "the cat"
    assert page.evaluate("model.get('sort')") == "layer"
    page.evaluate("end()")
    assert page.evaluate("listening()") == 0


def test_another_sentence_is_attended_in_python():
    figure = OwnSentence("the cat sat", query=4, key=4)
    figure.sentence = "a dog"
    assert figure.shape == (6, 12, 4, 4)
    assert (figure.query, figure.key) == (3, 3)
    with pytest.raises(ValueError, match="has no tokens"):
        OwnSentence(" ")
    with pytest.raises(ValueError, match="has no tokens"):
        figure.sentence = ""
    assert figure.sentence == "a dog"


def test_python_sends_the_parts():
    figure, sent = OwnSentence(), []
    figure.send = lambda *message: sent.append(message)
    asked = {"asset": quantise.asset().key, "part": 65}
    figure._handle_custom_msg(asked, [])
    assert sent == [(asked, [quantise.asset().parts[65]])]
