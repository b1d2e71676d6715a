"""Text as tokens of byte-level BPE, from a list of tokens and the merges that made them.

Every byte has a letter that stands for it, so that any text can be written, and neighbours are
merged in the order in which the merges were learned. No merge crosses the pieces into which a
text is cut first: words with the space in front of them, signs, white space, and single digits.

Source: Sennrich et al., "Neural Machine Translation of Rare Words with Subword Units", arXiv
1508.07909; Radford et al., "Language Models are Unsupervised Multitask Learners", section 2.2,
2019 (bytes, and the pattern of pieces). Single digits are what llama.cpp calls "smollm".
"""

from collections.abc import Sequence

from mhsa_book.transformer.checks import whole_characters


def byte_letters() -> dict[str, int]:
    """The letter that stands for each byte, as GPT-2 chose them.

    Bytes that print stand for themselves, the others for the letters from U+0100 on.

    >>> letters = byte_letters()
    >>> letters["a"], letters["Ġ"], len(letters)
    (97, 32, 256)
    """
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in visible]
    signs = [*visible, *(0x100 + n for n in range(len(others)))]
    return {chr(sign): byte for sign, byte in zip(signs, [*visible, *others], strict=True)}


class BytePairs:
    """A tokenizer: text to ids and back, and how each token is spelled for a reader.

    ``spellings`` has one for every id, no two alike: the text of the token, its space included
    (" Mary"); where its bytes are no whole characters, these are written out ("<0xF0><0x9F>").

    Parameters
    ----------
    tokens : in the order of their ids, spelled with ``byte_letters``
    merges : pairs of tokens, each "left right", in the order in which they are merged
    special : tokens that are found in a text before everything else, spelled as they are

    Examples
    --------
    >>> letters = [*byte_letters()]
    >>> pairs = BytePairs([*letters, "th", "the", "<end>"], ["t h", "th e"], ["<end>"])
    >>> [pairs.spellings[i] for i in pairs.ids("the tea<end>")]
    ['the', ' ', 't', 'e', 'a', '<end>']
    """

    def __init__(
        self, tokens: Sequence[str], merges: Sequence[str], special: Sequence[str] = ()
    ) -> None:
        from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

        vocabulary = {token: i for i, token in enumerate(tokens)}
        pairs = [(left, right) for left, _, right in (merge.partition(" ") for merge in merges)]
        self._tokenizer = Tokenizer(models.BPE(vocabulary, pairs))
        # Digits come first: then two spaces in front of a number are one piece, and one token.
        self._tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
            ]
        )
        self._tokenizer.decoder = decoders.ByteLevel()
        self._tokenizer.add_special_tokens(
            [AddedToken(token, normalized=False, special=True) for token in special]
        )
        letters, whole = byte_letters(), {*special}
        self.spellings = [t if t in whole else _spelled(t, letters) for t in tokens]

    def ids(self, text: str) -> list[int]:
        """Ids of the tokens of a text; ``ValueError`` for half of a character."""
        whole_characters("text", text)
        return self._tokenizer.encode(text).ids

    def text(self, ids: Sequence[int]) -> str:
        """The text of these tokens; where bytes are no character, it has U+FFFD."""
        return self._tokenizer.decode([*ids], skip_special_tokens=False)


def _spelled(token: str, letters: dict[str, int]) -> str:
    data = bytes(letters[letter] for letter in token)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return "".join(f"<0x{byte:02X}>" for byte in data)
