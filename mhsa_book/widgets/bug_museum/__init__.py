"""The museum of bugs as a figure: the line, the maps and the training of every exhibit."""

from mhsa_book.widgets.bug_museum.bug_museum import BugMuseum as BugMuseum
