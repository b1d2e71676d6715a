"""One pair of tokens and the map that mixes its heads, made of parts to weaken and change."""

from mhsa_book.widgets.compose_lab.compose_lab import ComposeLab as ComposeLab
