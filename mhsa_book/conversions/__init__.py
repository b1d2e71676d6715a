"""Attention rewritten in another form, as the chapters on variants need it."""

from mhsa_book.conversions.fill import fill as fill
from mhsa_book.conversions.to_latent import mha_to_latent as mha_to_latent
