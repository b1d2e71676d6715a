"""Which role a head has: published rules, applied to annotated sentences.

A model reads sentences (``reading``, ``words``); ``looking`` says where its heads look, and
``arcs`` how often that is right and what a simple guess gets. ``halves`` chooses on one half
and reports on the other, ``nulls`` says what chance gives. ``rarest`` and ``sinks`` are two
more roles, ``effect`` switches heads off, ``ranks`` compares, and ``published`` has the papers'
numbers.
"""

from mhsa_book.roles.arcs import antecedents as antecedents
from mhsa_book.roles.arcs import dependencies as dependencies
from mhsa_book.roles.effect import effects as effects
from mhsa_book.roles.halves import judged as judged
from mhsa_book.roles.looking import at_distance as at_distance
from mhsa_book.roles.looking import tops as tops
from mhsa_book.roles.looking import tops_before as tops_before
from mhsa_book.roles.nulls import by_chance as by_chance
from mhsa_book.roles.nulls import largest as largest
from mhsa_book.roles.ranks import spearman as spearman
from mhsa_book.roles.reading import Reading as Reading
from mhsa_book.roles.reading import read as read
