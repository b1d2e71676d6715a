"""Train the model of the chapter on induction, and write down how it went.

Run as `python -m tools.build.train_repeater`: about a minute on two cores, the same numbers
every time on one machine. Writes weights in half precision and a record as JSON to
mhsa_book/models.
A model with one layer is trained in the same way, for its curve; its weights are not kept.
"""

import argparse
import json
import platform
import time
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from tqdm import tqdm

from mhsa_book import measure
from mhsa_book.models import repetition
from mhsa_book.models.repeater import FOLDER, RECORD, START, WEIGHTS, Repeater

SEED = 0
BATCH = 32
LEARNING_RATE = 1e-2
EVERY = 50
"""Steps between two points of a curve."""

UNKNOWN = 0.2
"""Weight in the loss of a token that nothing announces; no model can predict it."""


def fresh(n: int, seed: int = 1) -> repetition.Sequences:
    """Sequences for testing; training has another seed."""
    return repetition.draw(n, START, torch.Generator().manual_seed(seed))


def train(n_layers: int, n_steps: int) -> tuple[Repeater, dict[str, Any]]:
    """A model and its curve; ends with weights as they are stored, in half precision."""
    torch.manual_seed(SEED)
    generator, test = torch.Generator().manual_seed(SEED), fresh(64)
    model = Repeater(n_layers)
    for table in (model.tokens, model.positions):
        nn.init.normal_(table.weight, std=0.5)  # less, and the heads take longer to form
    optimizer = torch.optim.Adam(model.parameters(), LEARNING_RATE, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, LEARNING_RATE, total_steps=n_steps, pct_start=0.1
    )
    curve: dict[str, list[float]] = {}
    start = time.perf_counter()
    progress = tqdm(range(1, n_steps + 1), desc=f"{n_layers} layer(s)")
    for step in progress:
        loss = step_loss(model, repetition.draw(BATCH, START, generator))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % EVERY == 0 or step in (1, n_steps):
            known_loss, accuracy = tested(model, test)
            best = {name: max(map(max, found)) for name, found in scores(model, test).items()}
            point = {"step": step, "loss": known_loss, "accuracy": accuracy, **best}
            for name, value in point.items():
                curve.setdefault(name, []).append(round(value, 4))
            progress.set_postfix(loss=f"{known_loss:.3f}", accuracy=f"{accuracy:.3f}")
    seconds = time.perf_counter() - start
    model = model.half().float()
    accuracy = tested(model, fresh(512, seed=2))[1]
    return model, {
        "accuracy": round(accuracy, 4),
        "seconds": round(seconds, 1),
        "curve": curve,
    }


def step_loss(model: Repeater, sequences: repetition.Sequences) -> Tensor:
    """Cross-entropy, in which the tokens that can be known count most."""
    logits, targets = model(sequences.inputs), sequences.targets
    each = cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
    share = torch.where(sequences.known.flatten(), 1.0, UNKNOWN)
    return (each * share).sum() / share.sum()


@torch.no_grad()
def tested(model: Repeater, sequences: repetition.Sequences) -> tuple[float, float]:
    """Cross-entropy and accuracy on the tokens that can be known."""
    logits, known = model(sequences.inputs), sequences.known
    loss = cross_entropy(logits[known], sequences.targets[known])
    return loss.item(), repetition.accuracy(logits, sequences)


def scores(model: Repeater, sequences: repetition.Sequences) -> dict[str, list[list[float]]]:
    """What every head of every layer looks at: a list of heads for each layer."""
    found: dict[str, list[Tensor]] = {"previous": [], "second_previous": [], "induction": []}
    for weights in model.weights(sequences.inputs):
        found["previous"].append(measure.at_offset(weights, -1).mean(dim=0))
        found["second_previous"].append(measure.at_offset(weights, -2).mean(dim=0))
        found["induction"].append(repetition.induction(weights, sequences))
    return {
        name: [[round(score, 4) for score in layer.tolist()] for layer in layers]
        for name, layers in found.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2000, help="updates for each model")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where to write")
    args = parser.parse_args()
    torch.set_num_threads(1)  # the tensors are small: more threads are slower
    args.folder.mkdir(parents=True, exist_ok=True)
    _, one_layer = train(1, args.steps)
    model, two_layers = train(2, args.steps)
    stored = {name: value.half() for name, value in model.state_dict().items()}
    (args.folder / WEIGHTS.name).write_bytes(save(stored))
    record = {
        "two_layers": two_layers,
        "one_layer": one_layer,
        "heads": scores(model, fresh(512, seed=2)),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "seed": SEED,
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
    }
    (args.folder / RECORD.name).write_text(
        json.dumps(record, indent=1) + "\n", encoding="utf-8"
    )
    print(f"two layers {two_layers['accuracy']:.4f}, one layer {one_layer['accuracy']:.4f}")


if __name__ == "__main__":
    main()
