"""Train the model of the chapter on Transformers.

Run as `python -m tools.build.train_translator`: about 75 s on one core, the same numbers
every time on one machine. Writes weights in half precision to mhsa_book/models and prints
their SHA-256, which belongs into translator.py.
"""

import argparse
import hashlib
from pathlib import Path

import torch
from safetensors.torch import save

from mhsa_book.experiments.translation import train
from mhsa_book.models.translator import WEIGHTS


def main() -> None:
    """Train, write, say what it is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the book's model is that of 0")
    parser.add_argument("--folder", type=Path, default=WEIGHTS.parent, help="where to write")
    args = parser.parse_args()
    torch.set_num_threads(1)  # the tensors are small: more threads are slower
    model, losses = train(args.seed)
    data = save({name: value.half() for name, value in model.state_dict().items()})
    args.folder.mkdir(parents=True, exist_ok=True)
    (args.folder / WEIGHTS.name).write_bytes(data)
    print(f"loss {losses[-1]:.4f} nats a word, SHA-256 {hashlib.sha256(data).hexdigest()}")


if __name__ == "__main__":
    main()
