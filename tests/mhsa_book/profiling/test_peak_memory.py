"""Memory at its highest, counted in bytes that can be worked out beforehand."""

import gc
import os

import pytest
import torch
import torch.nn.functional as F

from mhsa_book.profiling.peak_memory import peak_bytes

numbers = torch.ones(250_000)  # a million bytes


def test_what_is_taken_at_once_counts():
    assert peak_bytes(lambda: (numbers + numbers, numbers * numbers)) == 2_000_000


def test_what_was_given_back_does_not_count_twice():
    def one_after_the_other():
        for _ in range(5):
            torch.mul(numbers, numbers)

    assert peak_bytes(one_after_the_other) == 1_000_000


def test_the_highest_moment_counts_and_not_the_last():
    def up_and_down():
        both = numbers + numbers, numbers + numbers
        return both[0][:1].clone()

    assert peak_bytes(up_and_down) == 2_000_004


def test_views_and_writing_in_place_take_nothing():
    ones = torch.ones(500, 500)
    assert peak_bytes(lambda: numbers.view(500, 500).T.mul_(ones)) == 0
    assert peak_bytes(lambda: None) == 0


def test_what_was_there_before_does_not_count_when_it_is_given_back():
    kept = [numbers + numbers]
    assert peak_bytes(lambda: (kept.clear(), gc.collect())) == 0


def test_scratch_inside_one_operation_is_seen():
    q = torch.ones(1, 2, 512, 16)
    given_back = q.numel() * 4 + 2 * 512 * 4  # z and the logarithms of the sums
    assert peak_bytes(lambda: F.scaled_dot_product_attention(q, q, q)) > given_back


def test_an_error_of_the_call_comes_through_and_the_error_stream_is_open_again(capfd):
    def fails():
        raise ValueError("from inside")

    with pytest.raises(ValueError, match="from inside"):
        peak_bytes(fails)
    os.write(2, b"heard")
    assert capfd.readouterr().err.endswith("heard")


def test_nothing_is_said_on_the_error_stream(capfd):
    peak_bytes(lambda: numbers + numbers)
    assert capfd.readouterr() == ("", "")
