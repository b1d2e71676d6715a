"""Train every exhibit on the shared task, three seeds each, and store what was measured.

``python -m mhsa_book.museum`` takes some minutes of two cores, and says how many. With
``--add`` only those are trained that the stored file has not.
"""

import argparse
import json
import time
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import torch

from mhsa_book import museum
from mhsa_book.museum import study
from mhsa_book.museum.measured import FILE, RIGHT_ONE
from mhsa_book.museum.parts import Setting
from mhsa_book.museum.study import SEEDS, STEPS, Learned, as_record
from mhsa_book.museum.task import Reader
from mhsa_book.results.whole import write_whole

NOTHING: dict[str, Any] = {"minutes": 0.0, "right": [], "maps": {}, "exhibits": {}}
"""A file before anything is measured."""


@cache
def baseline(setting: Setting, seed: int) -> tuple[Reader, Learned]:
    """The right attention, trained once a process."""
    return study.baseline(setting, seed)


def one(name: str, setting: Setting, seed: int) -> tuple[dict[str, Any], float]:
    """Measure an exhibit, or the right attention of a setting; and the seconds it took."""
    torch.set_num_threads(1)
    begun = time.process_time()
    reader, right = baseline(setting, seed)
    if name == RIGHT_ONE:
        return as_record(right), time.process_time() - begun
    exhibit = museum.exhibit(name)
    if exhibit.parts.keys() <= study.NEVER_CALLED:
        return as_record(right), time.process_time() - begun
    parts = exhibit.all_parts
    found = study.learned(parts, setting, seed, reader)
    return as_record(found), time.process_time() - begun


def main() -> None:
    """Measure all, or what the file lacks, and write the file when the last one is done."""
    from tqdm import tqdm

    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument(
        "--out", type=Path, default=FILE, help="file to write (default: stored)"
    )
    parser.add_argument(
        "--add", action="store_true", help="keep what the stored file has, and add the rest"
    )
    parser.add_argument("--processes", type=int, default=2, help="trainings at a time")
    options = parser.parse_args()
    before = json.loads(FILE.read_text(encoding="utf-8")) if options.add else NOTHING
    known = [Setting(**row["setting"]) for row in before["right"]]
    exhibits = [each for each in museum.exhibits() if each.name not in before["exhibits"]]
    settings = [s for s in dict.fromkeys(each.setting for each in exhibits) if s not in known]
    rows = [(each.name, each.setting) for each in exhibits]
    rows += [(RIGHT_ONE, setting) for setting in settings]
    with ProcessPoolExecutor(options.processes) as pool:
        waiting = [(*row, pool.submit(one, *row, seed)) for row in rows for seed in SEEDS]
        found: dict[tuple[str, Setting], list[dict[str, Any]]] = {}
        seconds = 60.0 * before["minutes"]
        for name, setting, work in tqdm(waiting, desc="exhibits × seeds"):
            record, took = work.result()
            found.setdefault((name, setting), []).append(record)
            seconds += took
    readers = {each.setting: baseline(each.setting, SEEDS[0])[0] for each in exhibits}
    rights = [
        {"setting": vars(s), "seeds": found[RIGHT_ONE, s], "map": study.maps(readers[s])}
        for s in settings
    ]
    maps = {each.name: study.maps(readers[each.setting], each) for each in exhibits}
    measured = {name: found[name, setting] for name, setting in rows if name != RIGHT_ONE}
    stored = {
        "date": date.today().isoformat(),
        "torch": torch.__version__,
        "steps": STEPS,
        "seeds": SEEDS,
        "minutes": round(seconds / 60, 1),
        "right": before["right"] + rights,
        "maps": before["maps"] | maps,
        "exhibits": before["exhibits"] | measured,
    }
    text = json.dumps(stored, separators=(",", ":"), ensure_ascii=False)
    write_whole(options.out, text.replace('},{"losses"', '},\n{"losses"') + "\n")
    print(f"{len(waiting)} trainings, {seconds / 60:.1f} minutes of processor → {options.out}")


if __name__ == "__main__":
    main()
