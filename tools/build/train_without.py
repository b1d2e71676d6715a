"""Train translators that never have one kind of attention, and add what they cost.

    python -m tools.build.train_without "cross-attention" 0 1 2 3

Each takes about 90 s on one core. Adds to mhsa_book/results/data/translators.json, below
"never", what every seed costs in the end.
"""

import argparse
import json

import torch
from tqdm import tqdm

from mhsa_book.experiments.translation.heads import KINDS
from mhsa_book.experiments.translation.measured import rounded
from mhsa_book.experiments.translation.never import never_had
from mhsa_book.results.translators import FILE


def main() -> None:
    """Read the arguments, train, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=KINDS, help="the attention that is always off")
    parser.add_argument("seeds", type=int, nargs="+")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    found = {str(s): rounded(never_had(arguments.kind, s)) for s in tqdm(arguments.seeds)}
    kept = json.loads(FILE.read_text(encoding="utf-8"))
    kept.setdefault("never", {})[arguments.kind] = found
    FILE.write_text(json.dumps(kept, separators=(",", ":")) + "\n", encoding="utf-8")
    print(found)


if __name__ == "__main__":
    main()
