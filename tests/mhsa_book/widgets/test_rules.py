"""What comes back from a link or from storage is what Python would take, and nothing else."""

import json
import subprocess
from random import Random

import pytest

from tests.mhsa_book.widgets.conftest import running_node
from tests.mhsa_book.widgets.every_figure import MAKE, every_figure
from tools import ROOT

VIEWS = (ROOT / "_static" / "views.js").read_text(encoding="utf-8")
HOSTILE = [
    *(None, True, False, 0, 1, -1, 0.5, 1e9, 10**9, "", "0", "no such choice", [], [[]], {}),
    *([0], [0, 0], [-1], [[0, 0]], [[9, 9]], [True], ["0"], "<img src=x onerror=alert(1)>"),
]
JUDGE = """
const said = JSON.parse(require("fs").readFileSync(0, "utf-8"));
const judged = said.map(([value, rule]) => fitsRule(value, rule));
console.log(JSON.stringify(judged));
"""


def page(script: str, said):
    """What the page's own script makes of it."""
    running_node()  # or this test is left out
    done = subprocess.run(
        ["node", "-e", VIEWS + script], input=json.dumps(said), capture_output=True, text=True
    )
    assert done.stderr == ""
    return json.loads(done.stdout)


def some(rule, random):
    """A value that keeps the rule."""
    if rule.get("none") and random.random() < 0.3:
        return None
    if "among" in rule:
        return random.choice(rule["among"])
    if "parts" in rule:
        return [some(part, random) for part in rule["parts"]]
    if "each" in rule:
        n = random.randint(rule["fewest"], min(rule["most"], rule["fewest"] + 4))
        return [some(rule["each"], random) for _ in range(n)]
    if rule.get("whole"):
        return random.choice(
            [rule["least"], rule["most"], random.randint(rule["least"], rule["most"])]
        )
    return random.uniform(rule["least"], rule["most"])


def beside(rule):
    """Values that only just break it."""
    if "least" in rule:
        return [
            rule["least"] - 1,
            rule["most"] + 1,
            rule["least"] + 0.5 if rule.get("whole") else "x",
        ]
    if "each" in rule:
        item = some(rule["each"], Random(0))
        return [[item] * (rule["most"] + 1), *([broken] for broken in beside(rule["each"]))]
    return [f"{rule.get('among', ['x'])[0]} "]


def taken(name, trait, value) -> bool:
    """Whether Python sets the trait, on a figure of its own, to this very value."""
    figure = MAKE[name]()
    try:
        setattr(figure, trait, value)
    except Exception:
        return False
    now = getattr(figure, trait)
    return now == value and (now is value or type(value) is not bool)


@every_figure
def test_what_keeps_a_rule_is_taken_by_python(name):
    random = Random(name)
    for trait, rule in MAKE[name]().rules().items():
        for value in [some(rule, random) for _ in range(4)]:
            assert taken(name, trait, value), (trait, value)


@every_figure
def test_the_page_takes_what_keeps_a_rule_and_refuses_what_python_refuses(name):
    random = Random(name)
    rules = MAKE[name]().rules()
    good = [(some(rule, random), rule) for rule in rules.values() for _ in range(4)]
    assert page(JUDGE, good) == [True] * len(good)
    tried = [(t, value, r) for t, r in rules.items() for value in [*HOSTILE, *beside(r)]]
    judged = page(JUDGE, [(value, rule) for _, value, rule in tried])
    for (trait, value, _), fits in zip(tried, judged, strict=True):
        if fits:
            assert taken(name, trait, value), (trait, value)


SOME = {name for name in MAKE if name not in ("Predict", "Interact")}


@pytest.mark.parametrize("name", sorted(SOME))
def test_a_figure_is_alive_in_any_state_that_may_come_back(name, open_figure):
    random = Random(name)
    for _ in range(3):
        figure = MAKE[name]()
        for trait, rule in figure.rules().items():
            setattr(figure, trait, some(rule, random))
        open_figure(figure)


def test_a_link_holds_what_was_set_and_leaves_out_what_was_typed():
    script = """
    const [state, rules] = JSON.parse(require("fs").readFileSync(0, "utf-8"));
    const link = viewLink("file:///a/b.html?found=x#y", "live-x", state, rules);
    const back = ["live-x", "other"].map((id) => viewFrom(link, id, rules));
    console.log(JSON.stringify([link, ...back]));
    """
    rules = {
        "d": {"least": 1, "most": 9, "whole": True},
        "t": {"among": ["1/sqrt(d)", "ä & <b>"]},
        "on": {"among": [True, False]},
        "off": {"each": {"least": 0, "most": 3, "whole": True}, "fewest": 0, "most": 4},
        "x": {"least": 0, "most": 1, "own": True},
    }
    state = {"d": 3, "t": "ä & <b>", "on": False, "off": [0, 3], "x": 0.5, "large": [1]}
    link, back, other = page(script, [state, rules])
    assert back == {name: state[name] for name in ("d", "t", "on", "off")}
    assert other is None
    assert link.startswith("file:///a/b.html?figure=live-x&d=3&")
    assert link.endswith("#live-x")
    assert [part for part in ("found", "x=0.5", "<", "large") if part in link] == []


@pytest.mark.parametrize(
    "wrong",
    ["d=10", "d=1.5", "d=", "d=%22", "d=[1]", "t=2", "t=%3Cimg%3E", "off=[9]", "off=[0"],
)
def test_one_value_that_does_not_fit_refuses_the_whole_link(wrong):
    script = """
    const [link, rules] = JSON.parse(require("fs").readFileSync(0, "utf-8"));
    console.log(JSON.stringify([viewFrom(link, "live-x", rules) ?? "refused"]));
    """
    rules = {
        "d": {"least": 1, "most": 9, "whole": True},
        "t": {"among": ["a", "b"]},
        "off": {"each": {"least": 0, "most": 3, "whole": True}, "fewest": 0, "most": 4},
        "e": {"among": ["a"]},
    }
    address = "https://example.org/b.html?view=live-x&e=a&fbclid=1&"
    assert page(script, [address + wrong, rules]) == ["refused"]
    assert page(script, [address + "d=4", rules]) == [{"e": "a", "d": 4}]


def test_typed_numbers_stay_here_and_a_mask_travels():
    rules = MAKE["StageStepper"]().rules()
    assert {name for name, rule in rules.items() if rule.get("own")} == {
        *("x", "W_Q", "W_K", "W_V", "W_O")
    }
    assert {"step", "mask"} < set(rules)
