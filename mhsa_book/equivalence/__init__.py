"""Every implementation against every other: the wall, its peers, and what an empty row becomes.

``wall`` compares ``implementations`` on ``cases``. ``peers`` builds other people's modules with
our weights, ``empty_row`` asks everybody about a query that may look at nothing.
"""
