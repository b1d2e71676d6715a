"""What chapter 25 defines gives the weights of its figure."""

import math

import torch

from mhsa_lib import functional
from mhsa_lib.stages import Attend
from tests.mhsa_book.widgets.chapter_25 import defined
from tests.mhsa_book.widgets.test_scores_lab import LABS, as_double, there, vectors


def test_norm_sigmoid_and_difference_are_those_of_the_chapter():
    chapter = defined()
    for lab in LABS:
        q, k = vectors(lab)
        mask, scale = there(lab), 16**-0.5
        loud = q * lab.factor
        torch.testing.assert_close(functional.score(q, k, scale)[0, 0], as_double(lab.scores))
        if len(lab.removed) == len(lab.scores):
            continue
        # the split norms rows of heads: one head, (seq, d_head)
        split = chapter["NormedSplit"](1)
        normed_q, normed_k, _ = split(loud[0], k[0], k[0])
        sigmoid = chapter["SigmoidAttend"](scale=scale)
        sigmoid.bias = torch.tensor(-math.log(len(lab.scores)), dtype=torch.float64)
        flat = torch.zeros(1, 1, 16), torch.zeros(1, len(lab.scores), 16)
        minus = chapter["DifferentialAttend"](scale=scale)
        minus.part = lab.part
        softmax = Attend(scale=scale).attention_weights(loud, k, mask)[0, 0]
        wanted = {
            "softmax": softmax,
            "norm": Attend(scale=scale).attention_weights(normed_q, normed_k, mask)[0, 0],
            "sigmoid": sigmoid.attention_weights(loud, k, mask)[0, 0],
            "minus": minus.attention_weights(
                torch.cat([loud, flat[0]], dim=-1), torch.cat([k, flat[1]], dim=-1), mask
            )[0, 0],
            "gate": softmax,
        }
        for rule, row in wanted.items():
            torch.testing.assert_close(row, lab.by_rule[rule], atol=1e-9, rtol=0, msg=rule)
