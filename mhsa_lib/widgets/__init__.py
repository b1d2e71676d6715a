"""Live figures: alive on a static page, and in a notebook they talk to Python both ways."""

from mhsa_lib.widgets.bug_museum import BugMuseum as BugMuseum
from mhsa_lib.widgets.cache_calculator import CacheCalculator as CacheCalculator
from mhsa_lib.widgets.compose_lab import ComposeLab as ComposeLab
from mhsa_lib.widgets.cost_lab import CostLab as CostLab
from mhsa_lib.widgets.head_budget import HeadBudget as HeadBudget
from mhsa_lib.widgets.head_explorer import HeadExplorer as HeadExplorer
from mhsa_lib.widgets.interact import Interact as Interact
from mhsa_lib.widgets.mask_lab import MaskLab as MaskLab
from mhsa_lib.widgets.output_sum import OutputSum as OutputSum
from mhsa_lib.widgets.own_sentence import OwnSentence as OwnSentence
from mhsa_lib.widgets.pass_stepper import PassStepper as PassStepper
from mhsa_lib.widgets.predict import Predict as Predict
from mhsa_lib.widgets.ranks_lab import RanksLab as RanksLab
from mhsa_lib.widgets.repeater_lab import RepeaterLab as RepeaterLab
from mhsa_lib.widgets.scale_lab import ScaleLab as ScaleLab
from mhsa_lib.widgets.scores_lab import ScoresLab as ScoresLab
from mhsa_lib.widgets.sentence_lab import SentenceLab as SentenceLab
from mhsa_lib.widgets.shape_tracer import ShapeTracer as ShapeTracer
from mhsa_lib.widgets.stage_stepper import StageStepper as StageStepper
from mhsa_lib.widgets.tile_lab import TileLab as TileLab
from mhsa_lib.widgets.translator_lab import TranslatorLab as TranslatorLab
