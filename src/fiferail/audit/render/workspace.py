"""Names of files as GitHub wants them: from the directory that the command runs in, which is the checkout.

Called by the command line for annotations and SARIF. A report names files from the audited directory; an annotation with such a name
would point at no file of the repository when a part of it was audited. Fingerprints are made before and stay as they are.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fiferail.audit.model import Report


def from_here(report: Report, here: str = "") -> None:
    """Puts the way from the working directory to the audited one before each place; nothing for a directory elsewhere."""
    way = os.path.relpath(report.root, here or os.getcwd()) if report.root else "."
    if way == "." or way.startswith(".."):
        return
    for finding in report.findings:
        finding.places = [replace(place, file=os.path.join(way, place.file)) for place in finding.places]
        finding.flow = [replace(place, file=os.path.join(way, place.file)) for place in finding.flow]
