"""Every implementation against every other: the wall, its peers, and empty rows."""
