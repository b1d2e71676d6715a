"""Speed, measured against what other people use: ``python -m mhsa_lib.bench``.

``kept(name)`` loads a stored run; ``Table`` and ``plots.ratios`` show its cells.
"""

from mhsa_lib.results.benchmarks import kept as kept
from mhsa_lib.results.records import Report as Report
