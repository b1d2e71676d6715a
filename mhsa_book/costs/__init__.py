"""Parameters, FLOPs and bytes by formula, and the sizes and machines that they are put in.

``formulas`` are those of plain attention, ``variant_costs`` of all variants. Real models are in
``configurations``, those of 2026, which differ from layer to layer, in ``models_2026``. What
limits a stage is in ``roofline``, what limits all of them together in ``whole_model``, how fast
a machine is in ``hardware``. ``tiles`` counts what a fused loop
moves, ``sharing`` what each of several ranks holds and sends.
"""

from mhsa_book.costs.formulas import bytes_of as bytes_of
from mhsa_book.costs.formulas import cache_bytes as cache_bytes
from mhsa_book.costs.formulas import flops as flops
from mhsa_book.costs.formulas import parameters as parameters
from mhsa_book.costs.formulas import widths as widths
