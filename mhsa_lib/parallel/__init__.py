"""Heads on several devices: every rank keeps some heads, and one sum joins them."""

from mhsa_lib.parallel.sharded import parallelize as parallelize
