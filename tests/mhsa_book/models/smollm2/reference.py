"""What ``transformers`` makes of the same file, kept in reference.json beside this module.

`python -m tests.mhsa_book.models.smollm2.reference` writes it; that takes half a minute, and a
slow test does the same and compares. It differs from the file's own rule in one thing: it does
not know the pieces named "smollm", in which each digit stands alone, and so it separates two
spaces in front of "7", and joins a space with the first byte of "½". Here the text is cut at
its digits before it is asked, as the file says.
"""

import hashlib
import json
from pathlib import Path

import regex
import torch

from mhsa_book.models import smollm2
from tests.mhsa_book.models.smollm2.texts import PROMPTS, texts

FILE = Path(__file__).with_suffix(".json")
EVERY = 192
"""Of the 49,152 logits every so-manyth is kept."""


def theirs():
    """Return the model and the tokenizer of ``transformers``."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    file = smollm2.installed()
    given = {"gguf_file": file.name, "local_files_only": True}
    model = AutoModelForCausalLM.from_pretrained(file.parent, **given)
    return model.eval(), AutoTokenizer.from_pretrained(file.parent, **given)


def cut_at_digits(tokenizer, text: str) -> list[int]:
    pieces = [piece for piece in regex.split(r"(\p{N})", text) if piece]
    return [i for piece in pieces for i in tokenizer(piece)["input_ids"]]


def digest(ids: list[list[int]]) -> str:
    return hashlib.sha256(json.dumps(ids).encode()).hexdigest()


@torch.no_grad()
def computed(model, tokenizer) -> dict:
    from transformers import __version__

    found = []
    for text in PROMPTS:
        ids = torch.tensor([cut_at_digits(tokenizer, text)])
        logits = model(ids).logits[0, -1]
        told = {
            "do_sample": False,
            "max_new_tokens": 20,
            "attention_mask": torch.ones_like(ids),
        }
        new = model.generate(ids, **told)[0, ids.shape[-1] :]
        found.append(
            {
                "text": text,
                "ids": ids[0].tolist(),
                "logits": [round(value, 6) for value in logits[::EVERY].tolist()],
                "likeliest": logits.topk(5).indices.tolist(),
                "new": new.tolist(),
            }
        )
    return {
        "transformers": __version__,
        "sha256": smollm2.SHA256,
        "tokens_of_500": digest([cut_at_digits(tokenizer, text) for text in texts()]),
        "prompts": found,
    }


def stored() -> dict:
    return json.loads(FILE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    line = json.dumps(computed(*theirs()), separators=(",", ":"))
    FILE.write_text(f"{line}\n", encoding="utf-8")
