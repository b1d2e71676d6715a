"""Every implementation against the definition, and what each makes of an empty row.

``comparison`` compares ``implementations`` on ``cases``. ``peers`` builds other people's
modules with our weights; ``empty_row`` tries a query that can attend to nothing.
"""
