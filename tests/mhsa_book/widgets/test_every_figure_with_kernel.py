"""What a reader moves in JupyterLab arrives in Python, and what Python sets is shown.

All figures share one kernel; ``test_with_kernel.py`` has those that need more than that.
"""

import re

import pytest
from playwright.sync_api import expect

from tests.helpers.lab import WAIT, Notebook
from tests.mhsa_book.widgets.conftest import confirm

pytest.importorskip("jupyterlab")
pytestmark = pytest.mark.slow  # a server and a kernel

IMPORTS = "from mhsa_book.widgets import *"
FOLLOWED = "import torch\nfrom mhsa_lib.variants import GroupedQueryAttention\n"
CELLS = {  # a figure, what is read of it, and what is set
    "BugMuseum": (
        "shown = BugMuseum()",
        "shown.name, shown.symptom, shown.head",
        "shown.name, shown.symptom, shown.head = 'no_scale', 'worse', 2",
    ),
    "CostLab": ("shown = CostLab()", "shown.phase, shown.batch", "shown.context = 1000"),
    "HeadBudget": (
        "shown = HeadBudget()",
        "shown.n_heads",
        "shown.n_heads, shown.seq = 32, 64",
    ),
    "MaskLab": (
        "shown = MaskLab()",
        "shown.kind, shown.mask.sum().item(), shown.head",
        "shown.kind, shown.n, shown.head = 'key padding', 2, 1",
    ),
    "OutputSum": (
        "shown = OutputSum()",
        "shown.position, shown.coordinate, shown.off",
        "shown.position, shown.coordinate, shown.off = 1, 5, [0, 2]",
    ),
    "PassStepper": (
        FOLLOWED
        + "shown = PassStepper(torch.randn(3, 4), GroupedQueryAttention(4, 4, 2).eval())",
        "shown.step, shown.selected",
        "shown.step, shown.selected = 4, ['z', 3, 1, 0]",
    ),
    "Predict": (
        "shown = Predict('What shape is `x`?', (2, 6, 12))",
        "shown.given, shown.correct",
        "shown.given = [2, 6, 12]",
    ),
    "RepeaterLab": (
        "shown = RepeaterLab()",
        "shown.text, shown.off",
        "shown.text, shown.off = 'xyzxyz', []",
    ),
    "SentenceLab": (
        "shown = SentenceLab(step=2)",
        "shown.step, shown.sentence, shown.word, shown.off",
        "shown.sentence, shown.word, shown.off = 0, 1, []",
    ),
    "StageStepper": (
        "shown = StageStepper()",
        "shown.step, shown.x[1][0], shown.mask",
        "shown.x, shown.step = [[-7.5] * len(row) for row in shown.x], 'softmax'",
    ),
    "TranslatorLab": (
        "shown = TranslatorLab()",
        "shown.sentence, shown.off",
        "shown.sentence, shown.greeting, shown.off = 'rolan ot meti balo', 'hoi', []",
    ),
}


@pytest.fixture(scope="module")
def notebook(server, chromium):
    cells = [(f"{make}\nshown", read, change) for make, read, change in CELLS.values()]
    opened = Notebook(server, chromium, "figures", [IMPORTS, *sum(cells, ())])
    opened.run(0)
    yield opened
    opened.page.close()


class Met:
    """One figure of the notebook, and the two cells below it."""

    def __init__(self, notebook: Notebook, name: str) -> None:
        self.notebook = notebook
        self.first = 1 + 3 * list(CELLS).index(name)
        self.figure = notebook.run(self.first)
        expect(self.figure.locator(".mhsa-body")).to_be_visible(timeout=WAIT)

    def arrived(self, python: str) -> None:
        """Hold what Python reads of the figure against this."""
        expect(self.notebook.run(self.first + 1)).to_have_text(python)

    def change(self) -> None:
        """Set traits from Python."""
        self.notebook.run(self.first + 2)


@pytest.fixture
def met(notebook):
    return lambda name: Met(notebook, name)


def cell(figure, *place):
    return figure.locator(f'[data-place="{" ".join(map(str, place))}"]')


def test_the_cost_lab_and_python_change_each_other(met):
    lab = met("CostLab")
    lab.figure.get_by_label("phase").select_option("prefill")
    confirm(lab.figure.get_by_label("batch, exactly"), "3")
    said = lab.figure.locator(".mhsa-said")
    expect(said).to_contain_text("131,072 tokens, batch 3")
    lab.arrived("('prefill', 3)")
    lab.change()
    expect(lab.figure.get_by_label("context, exactly")).to_have_value("1000")
    expect(said).to_contain_text("1,000 tokens, batch 3")


def test_the_head_budget_and_python_change_each_other(met):
    budget = met("HeadBudget")
    confirm(budget.figure.get_by_label("n_heads, exactly"), "16")
    weights = budget.figure.locator("tr", has_text="numbers in weights")
    expect(weights).to_contain_text(f"{16 * 32**2:,}")
    budget.arrived("16")
    budget.change()
    expect(budget.figure.get_by_label("n_heads, exactly")).to_have_value("32")
    expect(weights).to_contain_text(f"{32 * 64**2:,}")


def test_the_bug_museum_and_python_change_each_other(met):
    museum = met("BugMuseum")
    museum.figure.get_by_label("symptom").select_option("in use")
    museum.figure.get_by_label("exhibit").select_option(label="keys turned again")
    museum.arrived("('keys_turned_again', 'in use', 0)")
    museum.change()
    expect(museum.figure.locator(".mhsa-big")).to_have_text("no scale")
    expect(museum.figure.get_by_label("symptom")).to_have_value("worse")
    expect(museum.figure.get_by_label("head", exact=True)).to_have_value("2")


def test_the_mask_lab_and_python_change_each_other(met):
    lab = met("MaskLab")
    lab.figure.get_by_label("head", exact=True).select_option("2")
    lab.figure.locator(".mhsa-paint button[aria-pressed=false]").first.click()
    lab.arrived("('your own', 29, 2)")  # causal on 7 tokens has 28
    lab.change()
    expect(lab.figure.get_by_label("mask", exact=True)).to_have_value("key padding")
    expect(lab.figure.get_by_label("head", exact=True)).to_have_value("1")
    expect(lab.figure.locator(".mhsa-paint button[aria-pressed=true]")).to_have_count(14)


def test_the_output_sum_and_python_change_each_other(met):
    summed = met("OutputSum")
    summed.figure.get_by_label("token").select_option(index=3)
    summed.figure.get_by_label("head 1").uncheck()
    coordinates = summed.figure.get_by_role("radio")
    coordinates.nth(0).focus()
    coordinates.nth(0).press("ArrowRight")
    summed.arrived("(3, 1, [1])")
    summed.change()
    expect(summed.figure.get_by_label("token")).to_have_value(re.compile("^1: "))
    expect(coordinates.nth(5)).to_have_attribute("aria-checked", "true")
    expect(summed.figure.get_by_label("head 1")).to_be_checked()
    expect(summed.figure.get_by_label("head 0")).not_to_be_checked()
    expect(summed.figure.get_by_label("head 2")).not_to_be_checked()


def test_the_pass_stepper_and_python_change_each_other(met):
    stepper = met("PassStepper")
    stepper.figure.get_by_role("button", name="Next").click()
    cell(stepper.figure, "q_heads", 1, 2, 0).click()
    stepper.arrived("(1, ['q_heads', 1, 2, 0])")
    stepper.change()
    expect(stepper.figure.locator("[aria-current=step]")).to_have_text("attend")
    expect(stepper.figure.locator(".mhsa-said")).to_contain_text("z[3, 1, 0] =")
    expect(cell(stepper.figure, "z", 3, 1, 0)).to_have_class(re.compile("mhsa-at"))


def test_predict_and_python_change_each_other(met):
    quiz = met("Predict")
    field, verdict = quiz.figure.get_by_label("Your shape"), quiz.figure.get_by_role("status")
    confirm(field, "2, 6, 11")
    expect(verdict).to_contain_text("Not this.")
    quiz.arrived("([2, 6, 11], False)")
    quiz.change()
    expect(field).to_have_value("2, 6, 12")
    expect(verdict).to_contain_text("Right.")


def test_the_repeater_lab_and_python_change_each_other(met):
    lab = met("RepeaterLab")
    text = lab.figure.get_by_label("Text", exact=True)
    previous = lab.figure.get_by_label("L0H2", exact=True)
    text.fill("hello hello h")
    previous.uncheck()
    lab.arrived("('hello hello h', [[0, 2]])")
    lab.change()
    expect(text).to_have_value("xyzxyz")
    expect(previous).to_be_checked()
    expect(lab.figure.locator(".mhsa-tokens button")).to_have_count(7)  # and the start


def test_the_sentence_lab_and_python_change_each_other(met):
    lab = met("SentenceLab")
    lab.figure.get_by_role("button", name="Next").click()
    lab.figure.get_by_role("radio", name="wide").check()
    meant = lab.figure.get_by_role("checkbox", name="who is meant")
    meant.uncheck()
    lab.arrived("(3, 1, 6, [0])")
    lab.change()
    expect(lab.figure.get_by_role("radio", name="tired")).to_be_checked()
    expect(meant).to_be_checked()
    expect(lab.figure.locator(".mhsa-said")).to_contain_text("“animal” finds itself")


def test_the_stage_stepper_and_python_change_each_other(met):
    stepper = met("StageStepper")
    stepper.figure.get_by_label("mask", exact=True).select_option("causal")
    cell(stepper.figure, "x", 1, 0).click()
    confirm(stepper.figure.get_by_role("textbox"), "2.5")
    stepper.arrived("('project', 2.5, [[True, False], [True, True]])")
    stepper.change()
    expect(stepper.figure.locator("[aria-current=step]")).to_have_text("softmax")
    expect(cell(stepper.figure, "x", 0, 0)).to_contain_text("7.5")


def test_the_translator_lab_loads_from_python_and_they_change_each_other(met):
    lab = met("TranslatorLab")
    lab.figure.get_by_role("button", name="Load the model (353 kB)").click()
    said = lab.figure.locator("button .mhsa-text")
    expect(said).to_have_count(8, timeout=WAIT)  # and the end
    verb = lab.figure.get_by_label("first clause: verb")
    verb.select_option("bogan")
    lab.figure.get_by_role("checkbox", name="cross L0H1").uncheck()
    lab.arrived("('bogan ul meti balo ip sako', ['cross L0H1'])")
    lab.change()
    expect(said).to_have_text(["hoi", "mirru", "mirru", "nalesh", "melo", "◁"])
    expect(verb).to_have_value("rolan")
    expect(lab.figure.get_by_role("checkbox", name="cross L0H1")).to_be_checked()
