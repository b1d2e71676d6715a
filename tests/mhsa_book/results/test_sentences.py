"""A claim in words: every number from the comparison, and the words that fit it."""

import pytest

from mhsa_book.results.claims import Claim, corrected
from mhsa_book.results.paired import Measure, Paired
from mhsa_book.results.sentences import number, probability, sentence, table
from mhsa_book.results.tables import NUMBER
from tests.mhsa_book.results.comparisons import ACCURACY, LOSS, compared, constant, steps

TWIN = compared(-0.002, first="wide", second="wide again")
RATE = Measure("rate", "tokens/s")

SENTENCES = {
    "higher is better": (
        Claim(compared(0.03)),
        "wide has a higher accuracy than thin, which is better: mean difference 0.0300 "
        "(95 % interval 0.0216 to 0.0384, p = 0.0078, n = 8).",
    ),
    "lower is better": (
        Claim(compared(-0.03, LOSS)),
        "wide has a lower loss than thin, which is better: mean difference −0.0300 nats "
        "(95 % interval −0.0384 to −0.0216, p = 0.0078, n = 8).",
    ),
    "higher is worse": (
        Claim(compared(0.03, LOSS)),
        "wide has a higher loss than thin, which is worse: mean difference 0.0300 nats "
        "(95 % interval 0.0216 to 0.0384, p = 0.0078, n = 8).",
    ),
    "lower is worse": (
        Claim(compared(-40.0, RATE, scale=1_000.0)),
        "wide has a lower rate than thin, which is worse: mean difference −40.0 tokens/s "
        "(95 % interval −48.4 to −31.6, p = 0.0078, n = 8).",
    ),
    "not told apart": (
        Claim(compared(0.001)),
        "wide and thin are not told apart in accuracy: mean difference 0.0010 "
        "(95 % interval −0.0074 to 0.0094, p = 0.81, n = 8).",
    ),
    "not told apart, nor the same": (
        Claim(compared(0.001), margin=0.005),
        "wide and thin are not told apart in accuracy: mean difference 0.0010 "
        "(95 % interval −0.0074 to 0.0094, p = 0.81, n = 8); "
        "not shown to be the same within ±0.005 (p = 0.15).",
    ),
    "the same": (
        Claim(compared(0.001, LOSS), margin=0.02),
        "wide and thin have the same loss within ±0.02 nats: mean difference 0.0010 nats "
        "(95 % interval −0.0074 to 0.0094, p = 0.81, n = 8); "
        "the 90 % interval −0.0057 to 0.0077 lies inside, p = 0.00053.",
    ),
    "the same, though told apart": (
        Claim(compared(0.012), margin=0.1),
        "wide and thin have the same accuracy within ±0.1: mean difference 0.0120 "
        "(95 % interval 0.0036 to 0.0204, p = 0.023, n = 8); "
        "the 90 % interval 0.0053 to 0.0187 lies inside, p < 0.0001; "
        "though the difference is not 0.",
    ),
    "beside the noise floor": (
        Claim(compared(0.03), floor=TWIN),
        "wide has a higher accuracy than thin, which is better: mean difference 0.0300 "
        "(95 % interval 0.0216 to 0.0384, p = 0.0078, n = 8); "
        "A/A, wide against wide again: −0.0020 (−0.0104 to 0.0064).",
    ),
    "below the noise floor": (
        Claim(compared(0.03), floor=compared(0.04, second="wide again")),
        "wide and thin are not told apart in accuracy: mean difference 0.0300 "
        "(95 % interval 0.0216 to 0.0384, p = 0.0078, n = 8); the A/A arms differ as much; "
        "A/A, wide against wide again: 0.0400 (0.0316 to 0.0484), "
        "which should not differ and do.",
    ),
    "six comparisons": (
        corrected(*[Claim(compared(0.03))] * 6)[0],
        "wide has a higher accuracy than thin, which is better: mean difference 0.0300 "
        "(95 % interval 0.0216 to 0.0384, p = 0.0078, corrected 0.047, n = 8).",
    ),
    "seven comparisons": (
        corrected(*[Claim(compared(0.03))] * 7)[0],
        "wide and thin are not told apart in accuracy: mean difference 0.0300 "
        "(95 % interval 0.0216 to 0.0384, p = 0.0078, corrected 0.055, n = 8); "
        "the interval leaves out 0, but the corrected p is above 0.05.",
    ),
    "an interval over 0": (
        Claim(Paired("a", "b", ACCURACY, tuple(range(8)), (*[0.01] * 7, 3.0))),
        "a and b are not told apart in accuracy: mean difference 0.38 "
        "(95 % interval −0.50 to 1.27, p = 0.0078, n = 8); "
        "p is at most 0.05, but the interval holds 0.",
    ),
    "no spread": (
        Claim(constant(-0.0), margin=0.01),
        "wide and thin have the same accuracy within ±0.01: mean difference 0 "
        "(95 % interval 0 to 0, p = 1, n = 8); "
        "the 90 % interval 0 to 0 lies inside, p = 0.0039; "
        "it is the same for every seed, so that no spread is known.",
    ),
    "no spread, few seeds": (
        Claim(constant(0.1, n=3)),
        "wide and thin are not told apart in accuracy: mean difference 0.10 "
        "(95 % interval −∞ to ∞, p = 0.25, n = 3); "
        "it is the same for every seed, so that no spread is known.",
    ),
    "negative zero": (
        Claim(compared(-0.00004)),
        "wide and thin are not told apart in accuracy: mean difference 0.0000 "
        "(95 % interval −0.0084 to 0.0083, p = 0.98, n = 8).",
    ),
    "an end just above 0": (
        Claim(Paired("a", "b", ACCURACY, tuple(range(8)), (*[0.01] * 6, 0.02, 0.077))),
        "a has a higher accuracy than b, which is better: mean difference 0.01963 "
        "(95 % interval 0.00002 to 0.03923, p = 0.0078, n = 8).",
    ),
    "many steps": (
        Claim(steps([1_000] * 7 + [1_500], [2_500] * 8, horizon=9_000), margin=1_200),
        "wide has a lower time to 95 % than thin, which is better: "
        "median difference −1,500 steps (95 % interval −1,500 to −1,000, p = 0.0078, n = 8); "
        "not shown to be the same within ±1,200 steps (p = 1).",
    ),
    "some never": (
        Claim(steps([100] * 8, [300, 400, *[None] * 6])),
        "wide has a lower time to 95 % than thin, which is better: "
        "median difference −901 steps or less (95 % interval −∞ to −200, p = 0.0078, n = 8); "
        "wide got there in 8, thin in 2 of 8 seeds.",
    ),
    "as many never": (
        Claim(steps([100, None], [None, 100])),
        "wide and thin are not told apart in time to 95 %: median difference unknown "
        "(95 % interval −∞ to ∞, p = 1, n = 2); wide got there in 1, thin in 1 of 2 seeds.",
    ),
}


@pytest.mark.parametrize("case", SENTENCES)
def test_the_sentence_says_what_was_found(case):
    claim, words = SENTENCES[case]
    assert sentence(claim) == words


@pytest.mark.parametrize(
    ("p", "words"),
    [
        (0.0, "p < 0.0001"),
        (0.00009, "p < 0.0001"),
        (0.0001, "p = 0.0001"),
        (2 / 256, "p = 0.0078"),
        (0.05, "p = 0.05"),
        (0.0499, "p = 0.0499"),
        (0.0501, "p = 0.0501"),
        (0.04999, "p = 0.04999"),
        (0.6716, "p = 0.67"),
        (0.999, "p = 1"),
        (1.0, "p = 1"),
    ],
)
def test_p_is_printed_on_its_own_side_of_5_percent(p, words):
    assert probability(p) == words


@pytest.mark.parametrize(
    ("value", "decimals", "words"),
    [
        (-0.0, 2, "0.00"),
        (-0.004, 2, "0.00"),
        (-0.006, 2, "−0.01"),
        (12_345.6, 0, "12,346"),
        (float("inf"), 3, "∞"),
        (float("-inf"), 0, "−∞"),
    ],
)
def test_numbers_have_a_true_minus_and_none_before_zero(value, decimals, words):
    assert number(value, decimals) == words


def test_a_table_has_a_row_for_every_claim_and_draws_itself():
    sheet = table(corrected(Claim(compared(0.03, LOSS)), Claim(compared(0.001), margin=0.02)))
    assert sheet.rows == (
        (
            *("wide", "thin", "loss", "8", "0.0300 nats", "0.0216 to 0.0384"),
            *("0.0078", "0.016", "", "more"),
        ),
        (
            *("wide", "thin", "accuracy", "8", "0.0010", "−0.0074 to 0.0094"),
            *("0.81", "0.81", "±0.02, p = 0.00053", "the same within the margin"),
        ),
    )
    assert repr(sheet).splitlines()[0] == "Arms, compared seed by seed."
    assert sheet._repr_html_().count("<tr>") == 3
    minus = table([Claim(compared(-0.03))])._repr_html_()
    assert f'style="{NUMBER}">−0.0300<' in minus
    assert len(sheet.head) == len(sheet.rows[0])
    assert "&lt;b&gt;" in table([Claim(compared(0.1, first="<b>"))])._repr_html_()
