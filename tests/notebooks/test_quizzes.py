"""Every chapter asks before it tells, and what it tells comes from executed code."""

import ast
import builtins

from tools.build.notebooks import code_cells, tags


def quizzes(cell):
    """Return the calls of `Predict` in a cell."""
    if "Predict(" not in cell.source:
        return []
    calls = [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Call)]
    return [call for call in calls if ast.unparse(call.func).split(".")[-1] == "Predict"]


def answer(call):
    """Return the second argument, by place or by name."""
    named = [keyword.value for keyword in call.keywords if keyword.arg == "answer"]
    return (call.args[1:2] + named)[0]


def computed(node):
    """Whether an expression uses a value that other code made."""
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return bool(names - set(dir(builtins)))


def test_every_chapter_has_a_quiz(chapter):
    assert any(quizzes(cell) for cell in code_cells(chapter))


def test_every_answer_is_computed(notebook):
    typed = [
        ast.unparse(call)
        for cell in code_cells(notebook)
        for call in quizzes(cell)
        if not computed(answer(call))
    ]
    assert typed == []


def test_the_code_that_tells_the_answer_is_folded(notebook):
    asking = [cell for cell in code_cells(notebook) if quizzes(cell)]
    assert [cell.id for cell in asking if "hide-input" not in tags(cell)] == []


def test_every_quiz_is_shown(notebook):
    """A quiz in the middle of a cell is made and thrown away."""
    for cell in code_cells(notebook):
        shown = [out for out in cell.outputs if "mhsa-predict" in str(out.get("data", ""))]
        assert len(quizzes(cell)) == len(shown), cell.id


def test_a_typed_answer_is_told_from_a_computed_one():
    answers = {
        "Predict('?', 4)": False,
        "widgets.Predict('?', (2, 3 * 4))": False,
        "widgets.Predict('?', max(4, 5))": False,
        "widgets.Predict('?', answer='four')": False,
        "widgets.Predict('?', wires['q'].shape)": True,
        "Predict('?', answer=int(changed.sum()))": True,
    }
    for code, live in answers.items():
        assert computed(answer(ast.parse(code).body[0].value)) is live, code
