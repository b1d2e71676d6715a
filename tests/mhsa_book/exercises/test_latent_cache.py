"""Chapter 19: what is said about latents that fit, absorbed scores, and compression."""

import pytest
import torch

from mhsa_book.exercises import check, latent_cache


def test_latents_of_900_000_tokens_fit():
    assert check("latents_that_fit", 60 * 2**30 // (61 * (512 + 64) * 2))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (60 * 2**30 // (61 * 512 * 2), "rotated key"),
        (60 * 2**30 // (576 * 2), "one layer of 61"),
        (60 * 2**30 // (61 * 576), "2 bytes"),
        (60 * 2**30 // (61 * 4 * 576), "one latent"),
        (60 * 10**9 // 70_272, "2³⁰"),
        (5, "5 is not it"),
    ],
)
def test_another_number_hears_what_was_forgotten(answer, said):
    assert said in check("latents_that_fit", answer).text


def test_a_query_that_goes_to_the_latents_gives_the_same_scores():
    assert check("absorbed_scores", latent_cache.absorbed)
    assert check("absorbed_scores", lambda q, W_UK, latents: q @ (latents @ W_UK).T)


@pytest.mark.parametrize("mistake", latent_cache.MISTAKES)
def test_an_expected_mistake_is_told(mistake):
    assert latent_cache.MISTAKES[mistake] in check("absorbed_scores", mistake).text


def svd(W, width):
    U, S, V = torch.linalg.svd(W, full_matrices=False)
    return U[:, :width] * S[:width], V[:width]


def padded(W, width):
    down, up = svd(W, width)
    more = width - down.shape[1]
    pad = torch.nn.functional.pad
    return pad(down, (0, more)), pad(up, (0, 0, 0, more))


def test_the_largest_directions_are_what_stays():
    assert check("compressed", padded)
    assert check("compressed", lambda W, width: [t.float() for t in padded(W, width)])


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda W, width: (W[:, :width], torch.eye(width, W.shape[1])), "would do"),
        (lambda W, width: padded(W, width)[::-1], "down is"),
        (lambda W, width: W, "two matrices"),
        (lambda W, width: (padded(W, width)[0].numpy(), 0), "down is ndarray"),
        (3, "a function of a matrix"),
    ],
)
def test_other_matrices_hear_what_is_wrong(answer, said):
    assert said in check("compressed", answer).text
