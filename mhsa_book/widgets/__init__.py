"""Live figures: alive on a static page, and in a notebook they talk to Python both ways."""

from mhsa_book.widgets.bug_museum import BugMuseum as BugMuseum
from mhsa_book.widgets.cache_calculator import CacheCalculator as CacheCalculator
from mhsa_book.widgets.compose_lab import ComposeLab as ComposeLab
from mhsa_book.widgets.cost_lab import CostLab as CostLab
from mhsa_book.widgets.head_budget import HeadBudget as HeadBudget
from mhsa_book.widgets.head_explorer import HeadExplorer as HeadExplorer
from mhsa_book.widgets.interact import Interact as Interact
from mhsa_book.widgets.language_model_lab import LanguageModelLab as LanguageModelLab
from mhsa_book.widgets.mask_lab import MaskLab as MaskLab
from mhsa_book.widgets.nine_heads import NineHeads as NineHeads
from mhsa_book.widgets.output_sum import OutputSum as OutputSum
from mhsa_book.widgets.own_sentence import OwnSentence as OwnSentence
from mhsa_book.widgets.pass_stepper import PassStepper as PassStepper
from mhsa_book.widgets.predict import Predict as Predict
from mhsa_book.widgets.ranks_lab import RanksLab as RanksLab
from mhsa_book.widgets.repeater_lab import RepeaterLab as RepeaterLab
from mhsa_book.widgets.scale_lab import ScaleLab as ScaleLab
from mhsa_book.widgets.scores_lab import ScoresLab as ScoresLab
from mhsa_book.widgets.sentence_lab import SentenceLab as SentenceLab
from mhsa_book.widgets.shape_tracer import ShapeTracer as ShapeTracer
from mhsa_book.widgets.stage_stepper import StageStepper as StageStepper
from mhsa_book.widgets.tile_lab import TileLab as TileLab
from mhsa_book.widgets.translator_lab import TranslatorLab as TranslatorLab
