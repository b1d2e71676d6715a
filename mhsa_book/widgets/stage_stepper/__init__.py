"""Plain attention in nine steps, with numbers to edit, and where each came from."""

from mhsa_book.widgets.stage_stepper.stage_stepper import INPUTS as INPUTS
from mhsa_book.widgets.stage_stepper.stage_stepper import STEPS as STEPS
from mhsa_book.widgets.stage_stepper.stage_stepper import StageStepper as StageStepper
