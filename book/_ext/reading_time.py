"""How long a chapter takes, counted from its document tree.

Prose is read at 220 words a minute. A code cell asks to be read, predicted and compared with
its output; a picture, to be looked at; a live figure, to be played with. What the page does not
show takes no time.
"""

from math import ceil

from docutils import nodes

WORDS_PER_MINUTE = 220
SECONDS = {"code cell": 20, "picture": 10, "live figure": 60}
NOT_PROSE = (nodes.literal_block, nodes.raw, nodes.comment, nodes.image, nodes.math_block)


def words(tree: nodes.Node) -> int:
    """Count the words of prose, captions and tables; a formula inside a line is one word."""
    if isinstance(tree, NOT_PROSE):
        return 0
    if isinstance(tree, nodes.math):
        return 1
    if isinstance(tree, nodes.Text):
        return len(tree.split())
    return sum(map(words, tree.children))


def extras(tree: nodes.Node) -> dict[str, int]:
    """Count what takes time besides prose."""
    inputs = [n for n in tree.findall(nodes.container) if "cell_input" in n["classes"]]
    live = [n for n in tree.findall(nodes.raw) if "data-mhsa-figure=" in n.astext()]
    return {
        "code cell": len(inputs),
        "picture": len(list(tree.findall(nodes.image))),
        "live figure": sum(n.astext().count("data-mhsa-figure=") for n in live),
    }


def minutes(tree: nodes.Node) -> int:
    """Return the time to read a page, in whole minutes, at least one."""
    seconds = sum(SECONDS[kind] * count for kind, count in extras(tree).items())
    return max(1, ceil(words(tree) / WORDS_PER_MINUTE + seconds / 60))
