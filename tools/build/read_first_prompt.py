"""Compute what LanguageModelLab shows before the model is loaded, and the means of its heads.

python -m tools.build.read_first_prompt

It takes a minute, and is run by hand when what is stored changes; a test compares it.
"""

import json

from mhsa_book import models
from mhsa_book.widgets.language_model_lab import stored

DIGITS = 5


def rounded(value: object) -> object:
    """Numbers to so many decimals, in lists and dictionaries too."""
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, list):
        return [rounded(each) for each in value]
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    return value


if __name__ == "__main__":
    found = rounded(stored.computed(models.load("SmolLM2-135M")))
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    stored.FILE.write_text(f"{text}\n", encoding="utf-8", newline="\n")
    print(f"{stored.FILE.name}: {len(text) / 1e3:.0f} kB")
