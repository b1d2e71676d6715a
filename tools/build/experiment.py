"""Run an experiment of the book for all its seeds, and keep what came out.

    python -m tools.build.experiment composed --seeds 8

Writes mhsa_lib/results/data/experiments/NAME.json, whole or not at all.
"""

import argparse
import json
import platform
import time
from dataclasses import asdict, replace
from importlib import import_module

import torch
from tqdm import tqdm

from mhsa_lib.experiments.run import measured
from mhsa_lib.results.experiments import FOLDER
from mhsa_lib.results.whole import write_whole


def main() -> None:
    """Read the arguments, train, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", help="a module of mhsa_lib.experiments")
    parser.add_argument("--seeds", type=int, default=5, help="how many, from 0 on")
    arguments = parser.parse_args()
    experiment = import_module(f"mhsa_lib.experiments.{arguments.name}")
    torch.set_num_threads(1)
    start = time.perf_counter()
    results = measured(experiment, tuple(range(arguments.seeds)), tqdm)
    machine = {
        "seconds": round(time.perf_counter() - start),
        "threads": 1,
        "processor": platform.machine(),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }
    text = json.dumps(asdict(replace(results, machine=machine)), indent=1)
    FOLDER.mkdir(parents=True, exist_ok=True)
    write_whole(FOLDER / f"{arguments.name}.json", text + "\n")
    print(results)


if __name__ == "__main__":
    main()
