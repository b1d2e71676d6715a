"""What ``torchrun -m mhsa_lib.parallel`` runs."""

from mhsa_book.parallel.command import main

main()
