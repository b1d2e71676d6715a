"""Find an exhibit by its name, or some by stage or symptom."""

from mhsa_book.museum.catalogue import CATALOGUE, STAGES, SYMPTOMS, Exhibit


def exhibits(*, stage: str | None = None, symptom: str | None = None) -> tuple[Exhibit, ...]:
    """All exhibits, or those of a stage or with a symptom, by the order of the pass.

    Raises ``ValueError`` for a stage or a symptom that there is not.

    >>> from mhsa_book.museum import exhibits
    >>> len(exhibits()) >= 40
    True
    >>> [each.name for each in exhibits(stage="W_O")]
    ['W_O_forgotten', 'one_slice_of_W_O_for_all_heads', 'output_bias_on_every_device']
    """
    for name, value, known in (("stage", stage, STAGES), ("symptom", symptom, SYMPTOMS)):
        if value is not None and value not in known:
            raise ValueError(f"{name}={value!r} is none; choose from {', '.join(known)}.")
    found = [
        each
        for each in CATALOGUE.values()
        if stage in (None, each.stage) and symptom in (None, each.symptom)
    ]
    return tuple(sorted(found, key=lambda each: STAGES.index(each.stage)))


def exhibit(name: str) -> Exhibit:
    """The exhibit of that name; ``ValueError``, with all names, for one that there is not.

    >>> from mhsa_book.museum import exhibit
    >>> exhibit("no_scale").title
    'Scores are not divided by √d_head.'
    >>> print(exhibit("no_scale").diff)
      def score(q, k, d_model):
    -     return (q @ k.mT) / math.sqrt(q.shape[-1])
    +     return q @ k.mT
    """
    if name not in CATALOGUE:
        raise ValueError(f"{name!r} is no exhibit; there are {', '.join(sorted(CATALOGUE))}.")
    return CATALOGUE[name]
