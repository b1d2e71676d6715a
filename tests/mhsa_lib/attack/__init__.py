"""Random cases against the definition: one integer makes a case, and makes it again.

``python -m tests.mhsa_lib.attack --seconds 3600`` runs it for an hour, ``--case fused:123`` one
case again. A case ends well, is refused with an error that says why, or is a finding.
"""
