"""One pass of any attention or variant, stage by stage, to follow; ``stage_stepper`` edits."""

from mhsa_book.widgets.pass_stepper.pass_stepper import PassStepper as PassStepper
