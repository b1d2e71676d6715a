"""Heads on several devices: what a rank holds, and the one sum that joins all ranks.

``one_rank`` cuts out the heads of a rank, ``tensor_parallel`` leaves them there and adds up, in
the ranks of a ``process_group``; ``comparison`` says how far that is from one process.
"""

from mhsa_lib.parallel.tensor_parallel import parallelize as parallelize
