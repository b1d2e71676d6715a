"""What was measured before and kept: experiments of every seed, and runs of the benchmark."""

from mhsa_lib.results.experiments import FOLDER as FOLDER
from mhsa_lib.results.experiments import Results as Results
from mhsa_lib.results.experiments import kept as kept
