"""What a variant changes, read from its source and drawn without a mistake."""

from difflib import ndiff
from html.parser import HTMLParser

import pytest
import torch
from torch import nn

from mhsa_book.difference import Difference, forward
from mhsa_lib import FusedMultiHeadAttention, MultiHeadAttention
from mhsa_lib.shapes import HeadOutputs
from mhsa_lib.stages import Attend, Split, Stage
from mhsa_lib.variants import GroupedQueryAttention


class Idea(MultiHeadAttention):
    """One line more than the five."""

    def forward(self, x, context=None, mask=None):
        """Say something."""
        context = x if context is None else context
        q, k, v = self.project(x, context)
        q, k, v = self.split(q, k, v)
        q = q * (1 < 2)  # <- the idea & more
        z = self.attend(q, k, v, mask)
        z = self.concat(z)
        return self.W_O(z)


class Closer(Attend):
    """The same lines under another name."""


class Page(HTMLParser):
    """Rows of the table, text of the panes, tags that were left open."""

    def __init__(self, text):
        super().__init__()
        self.open, self.attributes, self.text = [], [], []
        self.feed(text.replace("<wbr>", ""))
        self.close()

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.attributes.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append((tuple(self.open), data))


def test_the_forward_of_a_module_is_its_lines_without_signature_and_docstring():
    assert forward(MultiHeadAttention(12, 3)) == [
        "context = x if context is None else context",
        "q, k, v = self.project(x, context)",
        "q, k, v = self.split(q, k, v)",
        "z = self.attend(q, k, v, mask)",
        "z = self.concat(z)",
        "return self.W_O(z)",
    ]
    assert forward(Split(3))[0] == "q_heads, k_heads, v_heads = ["
    assert forward(Split(3))[1].startswith("    functional.split_heads")


def test_a_wrapped_forward_is_read_all_the_same():
    """A checker of types may stand around it; the reader wants what was written."""
    attention = MultiHeadAttention(12, 3)
    assert forward(attention)[-1] == "return self.W_O(z)"
    assert not any("Args" in line or "wrapper" in line for line in forward(attention.attend))


def test_nothing_differs_from_itself():
    difference = Difference(MultiHeadAttention(12, 3))
    assert difference.changed_lines == []
    assert all(old == new for old, new in difference.stages.values())
    assert [name for name, *_ in difference.sources()] == ["forward"]


def test_changed_stages_are_named_with_their_lines():
    difference = Difference(GroupedQueryAttention(12, 6, 2))
    assert difference.changed_lines == []
    changed = {name: pair for name, pair in difference.stages.items() if pair[0] != pair[1]}
    assert changed == {
        "split": ("Split", "GroupedSplit"),
        "attend": ("Attend", "GroupedAttend"),
    }
    sources = {name: (old, new) for name, old, new in difference.sources()}
    assert list(sources) == ["forward", "split", "attend"]
    assert "    functional.split_heads(k, self.n_kv_heads)," in sources["split"][1]
    assert any("share_heads" in line for line in sources["attend"][1])


def test_a_changed_line_is_found_with_its_mark():
    assert Difference(Idea(12, 3)).changed_lines == ["q = q * (1 < 2)  # <- the idea & more"]
    removed = Difference(MultiHeadAttention(12, 3), Idea(12, 3))
    assert removed.changed_lines == []


def test_a_stage_of_the_same_lines_and_another_class_is_still_another_stage():
    difference = Difference(MultiHeadAttention(12, 3, attend=Closer(0.5)))
    assert difference.stages["attend"] == ("Attend", "Closer")
    (_, attend) = difference.sources()
    assert attend[1] == attend[2] == forward(Attend(0.5))


def test_a_variant_without_the_five_stages_is_refused_by_name():
    words = "FusedMultiHeadAttention has no stage 'project'; only an attention with the five"
    with pytest.raises(TypeError, match=words):
        Difference(FusedMultiHeadAttention(12, 3))
    with pytest.raises(TypeError, match="Linear has no stage 'project'"):
        Difference(nn.Linear(2, 2))


def test_as_text_it_is_a_table_of_stages():
    assert repr(Difference(GroupedQueryAttention(12, 6, 2))).splitlines() == [
        "stage    MultiHeadAttention  GroupedQueryAttention",
        "project  Project             same, W_K (12, 12) → (4, 12), W_V (12, 12) → (4, 12)",
        "split    Split               GroupedSplit",
        "attend   Attend              GroupedAttend",
        "concat   Concat              same",
        "W_O      Linear              same",
        "",
        "changed lines of forward: 0",
    ]
    assert repr(Difference(Idea(12, 3))).splitlines()[-2:] == [
        "changed lines of forward: 1",
        "    q = q * (1 < 2)  # <- the idea & more",
    ]


# --- drawn -----------------------------------------------------------------------------------


def drawn(variant):
    return Difference(variant)._repr_html_()


def test_the_page_is_well_formed_and_escapes_the_source():
    html = drawn(Idea(12, 3))
    page = Page(html)
    assert page.open == []
    assert "(1 &lt; 2)" in html
    assert "&lt;- the idea &amp; more" in html
    assert any("q = q * (1 < 2)  # <- the idea & more" in text for _, text in page.text)


def test_a_name_is_data():
    strange = type("<img src=x>", (Attend,), {"forward": Closer(0.5).forward.__func__})(0.5)
    html = drawn(MultiHeadAttention(12, 3, attend=strange))
    assert "<img" not in html
    assert "&lt;img src=x&gt;" in html


def test_what_changes_is_said_in_words_and_not_by_weight_alone():
    page = Page(drawn(GroupedQueryAttention(12, 6, 2)))
    cells = [text for path, text in page.text if "tbody" in path]
    assert cells.count("same") == 2
    assert "same, W_K (12, 12) → (4, 12), W_V (12, 12) → (4, 12)" in cells
    assert "GroupedSplit" in cells
    marks = [text for path, text in page.text if path[-1] == "i"]
    plain, grouped = MultiHeadAttention(12, 6), GroupedQueryAttention(12, 6, 2)
    lines = [
        line[0]
        for stage in ("split", "attend")
        for line in ndiff(*(forward(getattr(a, stage)) for a in (plain, grouped)))
    ]
    assert (marks.count("−"), marks.count("+")) == (lines.count("-"), lines.count("+"))
    assert lines.count("-") > 1


def test_equal_sources_are_shown_once():
    page = Page(drawn(GroupedQueryAttention(12, 6, 2)))
    labels = [attributes["aria-label"] for tag, attributes in page.attributes if tag == "pre"]
    assert labels[0] == "forward of MultiHeadAttention and GroupedQueryAttention"
    assert len(labels) == 1 + 2 + 2


def test_panes_are_named_and_no_landmarks():
    page = Page(drawn(GroupedQueryAttention(12, 6, 2)))
    panes = [attributes for tag, attributes in page.attributes if tag == "pre"]
    assert all(pane["role"] == "group" for pane in panes)
    assert not any("tabindex" in pane for pane in panes)  # long lines wrap: nothing scrolls
    labels = [pane["aria-label"] for pane in panes]
    assert len(set(labels)) == len(labels)
    assert "split of GroupedQueryAttention" in labels
    scopes = [a["scope"] for tag, a in page.attributes if tag == "th"]
    assert scopes.count("col") == 3
    assert scopes.count("row") == 5


def test_the_picture_is_the_same_every_time():
    torch.manual_seed(0)
    first = drawn(GroupedQueryAttention(12, 6, 2))
    torch.manual_seed(1)
    assert drawn(GroupedQueryAttention(12, 6, 2)) == first


class Echo(Stage):
    """A stage that plain attention has not."""

    wires = {"echoed": HeadOutputs}

    def forward(self, z: HeadOutputs) -> HeadOutputs:
        return 2 * z


def test_an_added_part_is_named_and_a_stage_among_them_shown():
    attention = MultiHeadAttention(12, 3)
    attention.echo, attention.W_G = Echo(), nn.Linear(12, 12)
    difference = Difference(attention)
    assert list(difference.added) == ["echo", "W_G"]
    assert [*difference.sources()][1:] == [("echo", [], ["return 2 * z"])]
    assert "echo     –                   Echo" in repr(difference)
    text = "".join(data for _, data in Page(difference._repr_html_()).text)
    assert "+return 2 * z" in text


def test_a_plain_module_that_is_false_is_still_the_one_compared_with():
    class Empty(MultiHeadAttention):
        def __len__(self):
            return 0

    plain = Empty(12, 3)
    assert Difference(GroupedQueryAttention(12, 4, 2), plain).plain is plain
