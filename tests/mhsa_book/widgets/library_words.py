"""The words with which the library refuses."""


def words_of(function, *args):
    """The words with which the library refuses these sizes; None if it takes them."""
    try:
        function(*args)
    except ValueError as error:
        return str(error)
    return None
