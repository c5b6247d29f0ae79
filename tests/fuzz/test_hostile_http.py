"""Hostile bytes: a fixed set of scripts of the raw HTTP fuzzer (`make fuzz` runs more of them)."""

from __future__ import annotations

import os
import random

from fiferail.apiserver.embedded import EmbeddedServer
from fiferail.testing.differential import hostile

SCRIPTS = int(os.environ.get("FIFERAIL_HOSTILE_SCRIPTS", "150"))


def test_no_script_stops_or_breaks_the_server() -> None:
    """After each script another client is answered within a second, and the server has reported no defect."""
    with EmbeddedServer() as server:
        for number in range(SCRIPTS):
            what = hostile.script(random.Random(number))
            found = hostile.wrong(server.port, what, lambda: "".join(map(repr, server.http.crashes)))
            assert not found, f"script {number}: {found}\n{what!r}"


def test_the_same_number_is_the_same_script() -> None:
    """What a run has found can be played again."""
    assert hostile.script(random.Random(7)) == hostile.script(random.Random(7)) != hostile.script(random.Random(8))
