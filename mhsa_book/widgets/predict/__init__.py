"""A question to answer before its answer is shown: a shape, a number or an option."""

from mhsa_book.widgets.predict.predict import Predict as Predict
