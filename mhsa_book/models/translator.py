"""A trained encoder-decoder: it translates between the two made-up languages of the examples.

Two layers on each side, four heads of sixteen columns in each attention. It was trained by
``tools/build/train_translator.py``; the languages are in ``mhsa_book.examples.language``.
"""

import hashlib
from pathlib import Path

from mhsa_book.transformer import EncoderDecoder

WEIGHTS = Path(__file__).parent / "translator.safetensors"
SHA256 = "ba2933ab11b781c6fd1bdd42e45463a92ce9c7333f0f32e2668396c9b7771cd3"
"""Of the file that ships; the book's numbers are this model's."""

REPAIR = "train it again with `python -m tools.build.train_translator`, or reinstall mhsa_lib."


def translator(path: Path = WEIGHTS) -> EncoderDecoder:
    """The trained model, in float32 and evaluation mode; it is stored in half precision.

    Every call gives a new one. Raises ``FileNotFoundError`` for a missing file and
    ``ValueError`` for one with another SHA-256.

    >>> from mhsa_book.examples import language
    >>> from mhsa_book.transformer import greedy
    >>> source, _ = language.batch(language.translations("rolan ot meti balo")[:1])
    >>> language.TARGET.words(greedy(translator(), source).ids[0])[1:]
    ('mirru', 'mirru', 'nalesh', 'mela')
    """
    from safetensors.torch import load

    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing; {REPAIR}")
    data = path.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    if digest != SHA256:
        raise ValueError(
            f"{path} has SHA-256 {digest}, the translator's file has {SHA256}: it is damaged, "
            f"or another model's; {REPAIR}"
        )
    stored = load(data)
    tables = ("embed_source.tokens", "embed_target.tokens", "embed_source.positions")
    model = EncoderDecoder(*(len(stored[f"{table}.weight"]) for table in tables))
    model.load_state_dict(stored)
    return model.eval().requires_grad_(False)
