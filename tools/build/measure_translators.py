"""Measure every head of the translators of eight seeds, and keep what came out.

    for seed in 0 1 2 3 4 5 6 7; do
        python -m tools.build.train_translator --seed $seed --folder translators/$seed
    done
    python -m tools.build.measure_translators translators/*

Each folder is named after its seed. Writes mhsa_book/results/data/translators.json.
"""

import argparse
import datetime
import json
import platform
import time
from pathlib import Path

import torch
from safetensors.torch import load_file
from tqdm import tqdm

from mhsa_book.experiments.translation import learning
from mhsa_book.experiments.translation import measured as of
from mhsa_book.models.translator import WEIGHTS
from mhsa_book.results.translators import FILE
from mhsa_book.results.whole import write_whole


def main() -> None:
    """Read the arguments, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+", help="each with the weights of a seed")
    folders = sorted(parser.parse_args().folders, key=lambda folder: int(folder.name))
    torch.set_num_threads(1)
    start, models = time.perf_counter(), {}
    for folder in tqdm(folders):
        untrained = learning.untrained(int(folder.name)).eval()
        model = learning.untrained(int(folder.name)).eval().requires_grad_(False)
        model.load_state_dict(load_file(folder / WEIGHTS.name))
        models[folder.name] = of.measured(model, untrained)
    kept = {
        "settings": {
            "steps": learning.STEPS,
            "batch": learning.BATCH,
            "learning rate": learning.LEARNING_RATE,
            "pairs tested": of.TESTED,
            "pairs for means and draws": of.SEEN,
            "pairs for counted places": of.COUNTED,
        },
        "machine": {
            "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
            "seconds of measuring": round(time.perf_counter() - start),
            "threads": 1,
            "processor": platform.machine(),
            "python": platform.python_version(),
            "torch": torch.__version__,
        },
        "models": models,
    }
    write_whole(FILE, json.dumps(kept, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
