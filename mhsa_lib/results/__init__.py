"""Where measured numbers are kept: of experiments, every seed; of benchmarks, every run.

``experiments`` reads the numbers of an experiment, ``benchmarks`` those of a benchmark, from
JSON files in ``data``. A benchmark is a list of ``cells`` (what is timed) with ``records``
(what was found), shown as ``tables``.
"""

from mhsa_lib.results.experiments import kept as kept
