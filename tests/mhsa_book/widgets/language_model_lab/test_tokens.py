"""The page cuts texts into the tokens of Python's tokenizer."""

from tests.mhsa_book.models.smollm2.texts import ODD, PROMPTS
from tests.mhsa_book.widgets.own_sentence.texts import TEXTS


def whole(text):
    """Half a character as a page has it: U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def test_more_than_500_texts_become_the_tokens_of_python(in_node, lm, report):
    texts = [*TEXTS, *ODD, *PROMPTS]
    tokens = 0
    for text in texts:
        found, ids = in_node.ask("tokens", text), lm.ids(whole(text))
        assert found["ids"] == ids, ascii(text)
        assert found["spelled"] == lm.tokens(whole(text))
        assert found["text"] == lm._tokenizer.text(ids)
        tokens += len(ids)
    assert len(texts) >= 500
    report(f"language model: {len(texts)} texts, {tokens} tokens, all as Python has them")


def test_single_characters_are_read_as_python_reads_them(in_node, lm):
    points = [*range(0x700), *range(0x2000, 0x2100), *range(0x3000, 0x3100)]
    for point in points:
        text = f"a{chr(point)}b {chr(point)} 1{chr(point)}"
        assert in_node.ask("tokens", text)["ids"] == lm.ids(text), hex(point)
