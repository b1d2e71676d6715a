"""What ``torchrun -m mhsa_lib.parallel`` runs."""

from mhsa_lib.parallel.command import main

main()
