"""What the chapters of the book draw on: figures, plots, exercises, experiments and models.

Everything here stands on ``mhsa_lib``, which holds attention itself and never imports this
package.
"""
