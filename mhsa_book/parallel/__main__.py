"""What ``torchrun -m mhsa_book.parallel`` runs."""

from mhsa_book.parallel.command import main

main()
