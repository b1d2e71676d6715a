"""What ``torchrun -m mhsa_lib.parallel`` runs."""

from mhsa_lib.parallel.tensor_parallel import main

main()
