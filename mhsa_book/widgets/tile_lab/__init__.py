"""The loop of a fused kernel, tile by tile, and the bytes that it moves."""

from mhsa_book.widgets.tile_lab.tile_lab import TileLab as TileLab
