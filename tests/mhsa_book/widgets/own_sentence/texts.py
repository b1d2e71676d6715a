"""500 texts that a reader may type, and many that nobody should."""

import random
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import mhsa_book.examples

NOVEL = Path(mhsa_book.examples.__file__).parent / "novel"
BY_HAND = [
    "",
    " ",
    "\n\t \r",
    "The animal didn't cross the street because it was too tired.",
    "She went to the BANK; he sat on the bank.",
    "Ich möchte Straßenbahn-Fahrkarten für Ärzte, bitte!",
    "Él comió piñas ácidas, ¿no? ¡Sí!",
    "Ὀδυσσεύς ΑΣ ΣΑΣ ς İstanbul ıI ǅ ﬁn ﬀ Ⅷ ½ ㎏ ﷺ",
    "Привет, как дела? Ёлка Й",
    "我在河边的银行取钱",
    "日本語のテキスト、カタカナ・ひらがな。ガギグ が",
    "한국어 문장입니다. 한글 자모 ᄒ ᅡ ᆫ",
    "שלום עולם, מה שלומך? שָׁלוֹם",
    "السلام عليكم، كيف الحال؟ مُحَمَّد",
    "हिन्दी में एक वाक्य है। कि क्या",
    "ไทย ภาษา ไม่มีช่องว่าง",
    "😀 family 👨‍👩‍👧‍👦 flag 🇩🇪 skin 👍🏽 heart ❤️ ☕️",
    "zero\u200bwidth\u200djoiner\ufeffbom\u00adsoft\u2060word",
    "right\u202eto left\u202c \u2066isolated\u2069 \u200fmark",
    "nul\0bell\x07vt\x0bff\x0cesc\x1b[31mred nel\x85 del\x7f c1\x9f",
    "nbsp\u00a0thin\u2009ideographic\u3000line\u2028paragraph\u2029narrow\u202fogham\u1680end",
    "replacement \ufffd and private \ue000 \U000f0000 \U0010fffd noncharacter \uffff \ufdd0",
    "half \ud83d a character", "\udc00", "two halves \ud83d\ud83d\ude00 and one", "end \ud800",
    "[CLS] typed [SEP] by [MASK] hand [UNK][PAD] [cls] [ MASK ] [[SEP]]",
    "##ing ##", "# # ##s a##b", "don't won't I'm you're rock'n'roll o'clock",
    "x" * 100, "x" * 101, "a" * 1000, "é" * 100, "é" * 101, "word " * 200, "." * 1000,
    "a" + "\u0301" * 300, "e\u0301\u0323 vs \u1eb9\u0301", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝕋𝕖𝕩𝕥 ＡＢＣ ①②③ ²³",
    "€5.00 + £3 = ¥800? 50% ~ 3^2 < 4 > 1 | a_b \\ `code` {x} $y",
    "“quotes” ‘single’ «angles» – — … · • ‣ § ¶ † ‡ ※ ⁂ ′ ″",
    "http://example.org/a?b=c&d=e#f user@example.com C:\\path\\file.txt",
    "<script>alert('x')</script> &amp; &#x27; %00 ../../etc/passwd",
    "1,000,000.50 2024-01-31T12:00:00Z 0xDEADBEEF 1e-9 -5 +7 ½",
    "Zalgo: z\u0351\u036ba\u0310\u0301l\u0315g\u0321o\u0489",
    "𠀀 𪜀 𫝀 𫠠 𬺰 豈 丽 㐀 䶵 龥 鿿 〇 々 〆",
    "\U0001f1e9 \U000e0067 \U000e007f tag, ᠎mongolian \u180e, \u061c arabic mark",
    "ǆ Ǆ ǈ ᾳ ᾼ ẞ ß ŉ ǰ ΐ ΰ ᏸ Ꭰ ꭰ Ⴀ ა Ა",
    "Tiếng Việt: Tôi không biết. Đường phố", "ĿĀ ŁÓDŹ Øre Æther Œuvre þorn ðat",
]  # fmt: skip


def kind(point: int) -> str:
    return unicodedata.category(chr(point))


def ordinary(n: int) -> list[str]:
    """Lines of a novel."""
    text = "".join(file.read_text(encoding="utf-8") for file in sorted(NOVEL.glob("*.txt")))
    lines = [line for line in text.splitlines() if len(line.split()) > 4]
    return random.Random(0).sample(lines, n)


def drawn(n: int) -> Iterator[str]:
    """Characters of everywhere, in words of any length."""
    draws = random.Random(1)
    young = {"Mn", "Cf", "Cn", "Cs"}  # test_tokens.py has them, one by one
    points = [c for c in range(sys.maxunicode) if kind(c) not in young and kind(c)[0] != "P"]
    blocks = [range(32, 127), range(0, 256), range(0x250, 0x500), range(0x2000, 0x2100), points]
    for _ in range(n):
        block = draws.choice(blocks)
        letters = [chr(draws.choice(block)) for _ in range(draws.choice([5, 40, 300]))]
        yield "".join(letter + draws.choice(["", "", "", " "]) for letter in letters)


def mixed(n: int) -> Iterator[str]:
    """Parts of texts by hand and of the novel, cut anywhere and put together."""
    draws, whole = random.Random(2), [*BY_HAND, *ordinary(40)]
    for _ in range(n):
        parts = [draws.choice(whole) for _ in range(3)]
        yield "".join(part[draws.randrange(len(part) + 1) :][:60] for part in parts)


TEXTS = [*BY_HAND, *ordinary(150), *drawn(150), *mixed(150)]
