"""Texts to compare tokenizers and models on: ordinary ones, and some that are meant to hurt."""

import random

PROMPTS = [
    "When Mary and John went to the store, John gave a drink to",
    "The capital of France is",
    "Paris is the capital of France. Berlin is the capital of",
    "def add(a, b):\n    return",
    "In 1969 two people walked on the",
    "It is a truth universally acknowledged, that a single man in possession of",
    "<|im_start|>user\nWhat is the largest planet?<|im_end|>\n<|im_start|>assistant\n",
    "x",
    "Größe, naïveté, 漢字 und 😀: the last word is",
    "1, 2, 4, 8, 16, 32,",
]

ODD = [
    "  12",
    "a   3",
    "\t\t5 and\n\n7",
    "x\n\n12",
    "٣٤ ½½ ²³ Ⅷ 一二 12345678",
    "😀😃👩‍👩‍👧‍👦🏳️‍🌈",
    "e\u0301 e\u0301\u0323 Z\u0351\u036b\u0343\u036a\u0302A\u0334L\u0321G\u0322O\u0321",
    "zero\u200bwidth\u200c \u200dhere\ufeff",
    "\x00\x01\x07\x1b[31m\x7f\x85\x9f",
    "a\u00a0b\u2003c\u3000d\u2028e",
    " " * 40 + "x" + " " * 7,
    "\r\n\r\n line\r\nnext\r",
    "\n" * 12,
    "\t \t \t",
    "<|im_start|>user\nhi<|im_end|>",
    "<|endoftext|><|endoftext|>",
    "< |im_start|> <|im_start <|IM_START|> <repo_name>x<file_sep>y<empty_output>",
    "It's we'll they'd I'm don't 'S O'Reilly ''s",
    "אבג דהו العربية ไทย हिन्दी 한국어 日本語。",
    "\U0010ffff\ue000\ud7ff",
    "\u202eright to left\u202c",
    "x = [i**2 for i in range(10)]  # 100%",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 ﬁ ﬂ ŒÆß",
    "i" * 200,
    "\ufffd <0xF0> <0x9F>",
    " ",
    "",
]


def _words(line: str) -> list[str]:
    return line.split(" ")


# Separated by one space each; those that are space themselves stand in a tuple.
PIECES = [
    *(" ", "  ", "    ", "\n", "\n\n", "\t", "\r\n", "\u00a0", "\u2003", "\u200b"),
    *_words("the cat sat on Mary 's and n't , . ! ? ( ) \" ' - -- ... @ # % & * /"),
    *_words("0 7 42 1999 ½ ٣ Ⅷ ² é e\u0301 naïve straße Ω я 漢 字 한 ไ ש ع"),
    *_words("😀 👩\u200d👧 🏳️\u200d🌈 \u0301 \u0323 \x00 \x1b \ufeff \u202e"),
    *_words("<|im_start|> <|im_end|> <|endoftext|> <repo_name> <| |>"),
    *_words("def return self.x == != => {} [] \\n http://a.b/c?d=e&f"),
]


def texts(n: int = 500, seed: int = 0) -> list[str]:
    """Prompts, odd texts, and as many random ones as are missing: always the same ``n``."""
    draw, found = random.Random(seed), [*PROMPTS, *ODD]
    while len(found) < n:
        pieces = draw.choices(PIECES, k=draw.randint(1, 30))
        if draw.random() < 0.3:
            pieces += [chr(draw.randint(0, 0xD7FF)) for _ in range(draw.randint(1, 8))]
            draw.shuffle(pieces)
        found.append(draw.choice(["", " "]).join(pieces))
    return found[:n]
