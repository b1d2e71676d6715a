"""Every control of every figure has a name, however many figures share the page."""

import pytest

from tests.mhsa_book.widgets.every_figure import MAKE, every_figure

# What a reader acts on or walks through; words that only say something need no name, and
# <details> is named by its <summary>.
NAMED = {
    *(
        "button",
        "checkbox",
        "combobox",
        "textbox",
        "searchbox",
        "slider",
        "spinbutton",
        "radio",
    ),
    *("grid", "gridcell", "group", "img", "link", "listbox", "radiogroup", "switch", "table"),
    "DisclosureTriangle",
}
CONTROLS = {"BUTTON", "INPUT", "SELECT", "TEXTAREA", "SUMMARY"}
HIDDEN = {"notRendered", "notVisible", "uninteresting"}

IDS = """() => {
  const all = [...document.querySelectorAll("[id]")].map(({ id }) => id);
  const names = ["for", "aria-labelledby", "aria-describedby", "aria-controls", "aria-owns",
    "aria-activedescendant", "aria-details", "aria-errormessage", "aria-flowto"];
  const strangers = [];
  let references = 0;
  for (const name of names) {
    for (const one of document.querySelectorAll(`[${name}]`)) {
      for (const id of one.getAttribute(name).split(/\\s+/)) {
        references += 1;
        const found = document.getElementById(id);
        const home = one.closest(".mhsa-figure");
        if (!home?.contains(found)) strangers.push(`${home?.className}: ${name}=${id}`);
      }
    }
  }
  for (const one of document.querySelectorAll("[fill^='url(#']")) {
    const id = one.getAttribute("fill").slice(5, -1);
    references += 1;
    if (!one.closest(".mhsa-figure").contains(document.getElementById(id))) {
      strangers.push(`${one.closest(".mhsa-figure").className}: fill=${id}`);
    }
  }
  return { twice: all.filter((id, i) => all.indexOf(id) !== i), strangers, references };
}"""


class Page:
    """Several figures on one page, as a chapter has them."""

    def __init__(self, *names):
        self.names = names

    def html(self):
        return "".join(MAKE[name]().html() for name in self.names)


def opened(open_figure, *names):
    page = open_figure(Page(*names), width=1280)
    page.wait_for_function(
        "n => document.querySelectorAll('[data-mhsa-alive]').length === n", arg=len(names)
    )
    return page


PAGES = {
    "two kinds": ("MaskLab", "CostLab"),
    "one kind twice": ("ShapeTracer", "ShapeTracer"),
    "patterns": ("OutputSum", "OutputSum", "HeadExplorer"),
    "all, twice": (*MAKE, *MAKE),
}


@pytest.mark.parametrize("names", PAGES.values(), ids=PAGES)
def test_every_id_is_there_once_and_is_used_in_its_own_figure_only(names, open_figure):
    found = opened(open_figure, *names).evaluate(IDS)
    assert found["references"] >= len(names)
    assert (found["twice"], found["strangers"]) == ([], [])


def nameless(page) -> tuple[int, list[str]]:
    """How many parts of the accessibility tree need a name, and the HTML of those without."""
    session = page.context.new_cdp_session(page)
    session.send("DOM.enable")
    nodes = session.send("DOM.getFlattenedDocument", {"depth": -1})["nodes"]
    tree = session.send("Accessibility.getFullAXTree")["nodes"]
    heard = {node["backendDOMNodeId"]: node for node in tree if "backendDOMNodeId" in node}
    count, without = 0, []
    for node in nodes:
        given = node.get("attributes", [])
        attributes = dict(zip(given[::2], given[1::2], strict=True))
        found = heard.get(node["backendNodeId"], {"ignored": True})
        control = node["nodeName"] in CONTROLS or attributes.get("role") in NAMED
        if found["ignored"]:
            why = {reason["name"] for reason in found.get("ignoredReasons", [])}
            if control and why and not why & HIDDEN:
                without.append(f"{node['nodeName']} {attributes}: {why}")
        elif control or (found["role"]["value"] in NAMED and node["nodeName"] != "DETAILS"):
            count += 1
            if not found.get("name", {}).get("value", "").strip():
                without.append(f"{found['role']['value']}: {node['nodeName']} {attributes}")
    session.detach()
    return count, without


@every_figure
def test_every_control_has_a_name_also_beside_other_figures(name, open_figure):
    other = "CostLab" if name == "ShapeTracer" else "ShapeTracer"
    alone, wrong = nameless(opened(open_figure, name))
    assert alone >= 3
    assert wrong == []
    together, wrong = nameless(opened(open_figure, name, other, name))
    assert together > 2 * alone
    assert wrong == []
