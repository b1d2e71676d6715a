"""Models with trained weights, offline: MiniLM, and a repeater small enough to be read."""

from mhsa_lib.pretrained.minilm import FILES as FILES
from mhsa_lib.pretrained.minilm import HUB as HUB
from mhsa_lib.pretrained.minilm import NAME as NAME
from mhsa_lib.pretrained.minilm import PACKAGE as PACKAGE
from mhsa_lib.pretrained.minilm import REPAIR as REPAIR
from mhsa_lib.pretrained.minilm import PretrainedModel as PretrainedModel
from mhsa_lib.pretrained.minilm import load as load
from mhsa_lib.pretrained.minilm import verify as verify
