"""What importing the book's modules leaves as it was."""

import pkgutil
import subprocess
import sys

import mhsa_book

MODULES = [
    module.name
    for module in pkgutil.walk_packages(mhsa_book.__path__, "mhsa_book.")
    if not module.name.endswith("__main__")
]
PROGRAM = """
import importlib, random, sys
import numpy, torch

def states():
    return torch.get_rng_state().tolist(), random.getstate(), repr(numpy.random.get_state())

before = states()
for name in sys.argv[1:]:
    importlib.import_module(name)
    if states() != before:
        print(name)
        before = states()
"""


def test_importing_a_module_draws_no_random_number():
    """A reader who sets a seed and then imports gets the numbers of one who imports first."""
    assert len(MODULES) > 200
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, *MODULES], capture_output=True, text=True
    )
    assert (ran.stdout, ran.returncode) == ("", 0), ran.stderr


def test_importing_the_figures_reads_no_script():
    code = (
        "import sys; sys.addaudithook(lambda event, args: event == 'open' and "
        "str(args[0]).endswith(('.js', '.css')) and 'mhsa_book' in str(args[0]) "
        "and print(args[0])); import mhsa_book.widgets"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ran.stdout, ran.returncode) == ("", 0), ran.stderr


def test_importing_the_results_reads_no_statistics():
    """``scipy.stats`` takes a second, of which a notebook that asks nothing has no use."""
    code = "import sys, mhsa_book.experiments, mhsa_book.plots, mhsa_book.results; "
    code += "print('scipy.stats' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ran.stdout, ran.returncode) == ("False\n", 0), ran.stderr
