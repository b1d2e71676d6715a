"""A question to answer before its answer is shown: a shape, a number or an option."""

from mhsa_lib.widgets.predict.predict import Predict as Predict
