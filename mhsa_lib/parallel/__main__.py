"""What ``torchrun -m mhsa_lib.parallel`` runs."""

from mhsa_lib.parallel.sharded import main

main()
