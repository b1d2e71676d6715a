"""One pass of any attention, stage by stage, with every number and its origin."""

from mhsa_lib.widgets.pass_stepper.pass_stepper import PassStepper as PassStepper
