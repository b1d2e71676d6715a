"""How long a chapter takes, counted from its document tree.

Prose is read at 220 words a minute. A code cell asks to be read, predicted and compared with
its output; a picture, to be looked at; a live figure, to be played with; a quiz, to be thought
about before the click; a slider over stored outputs, to be moved from end to end. What the page
does not show, folded code for one, takes no time. Exercises are counted apart: somebody who
answers them needs time for that too.
"""

from math import ceil

from docutils import nodes

WORDS_PER_MINUTE = 220
SECONDS = {
    "code cell": 20,
    "picture": 10,
    "live figure": 60,
    "quiz": 30,
    "slider": 30,
    "exercise": 180,
}
SLIDER = 'class="mhsa-figure mhsa-interact"'
QUIZ = 'class="mhsa-figure mhsa-predict"'
FOLDED = {"tag_hide-input", "tag_hide-cell"}
NOT_PROSE = (nodes.literal_block, nodes.raw, nodes.comment, nodes.image, nodes.math_block)


def exercises(tree: nodes.Node) -> nodes.Node | None:
    """Return the section of exercises, if a page has one."""
    sections = tree.findall(nodes.section)
    return next((s for s in sections if s.children and s[0].astext() == "Exercises"), None)


def words(tree: nodes.Node, apart: nodes.Node | None = None) -> int:
    """Count the words of prose, captions and tables; a formula inside a line is one word."""
    if isinstance(tree, NOT_PROSE) or tree is apart:
        return 0
    if isinstance(tree, nodes.math):
        return 1
    if isinstance(tree, nodes.Text):
        return len(tree.split())
    return sum(words(child, apart) for child in tree.children)


def extras(tree: nodes.Node) -> dict[str, int]:
    """Count what takes time besides prose."""
    inputs = [n for n in tree.findall(nodes.container) if "cell_input" in n["classes"]]
    in_view = [n for n in inputs if not (n.parent and FOLDED & set(n.parent["classes"]))]
    raw = [n.astext() for n in tree.findall(nodes.raw)]
    sliders = sum(text.count(SLIDER) for text in raw)
    quizzes = sum(text.count(QUIZ) for text in raw)
    asked = [n for n in tree.findall(nodes.Admonition) if "exercise" in n.get("classes", [])]
    return {
        "code cell": len(in_view),
        "picture": len(list(tree.findall(nodes.image))),
        "live figure": sum(text.count("data-mhsa-figure=") for text in raw) - sliders - quizzes,
        "quiz": quizzes,
        "slider": sliders,
        "exercise": len(asked),
    }


def minutes(tree: nodes.Node) -> tuple[int, int]:
    """Return the minutes to read a page, at least one, and those for its exercises."""
    apart = exercises(tree)
    if apart is None:
        return max(1, _minutes(words(tree), extras(tree))), 0
    theirs = extras(apart)
    own = {kind: count - theirs[kind] for kind, count in extras(tree).items()}
    return max(1, _minutes(words(tree, apart), own)), _minutes(words(apart), theirs)


def _minutes(n_words: int, counts: dict[str, int]) -> int:
    seconds = sum(SECONDS[kind] * count for kind, count in counts.items())
    return ceil(n_words / WORDS_PER_MINUTE + seconds / 60)
