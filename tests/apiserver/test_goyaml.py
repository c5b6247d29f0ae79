"""YAML as the server reads and writes it, compared with what the server's library makes of the same texts: cases/goyaml.json."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from fiferail.apiserver import goyaml
from fiferail.errors import Unsupported
from fiferail.objects import gojson

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "cases" / "goyaml.json").read_text())
READ = {case["yaml"]: case for case in CASES if "yaml" in case}
WRITTEN = {json.dumps(case["tree"]): case for case in CASES if "tree" in case and "written" in case}


def aliases(levels: int) -> bytes:
    """Lists of nine aliases of lists of nine aliases."""
    lines = [b"a0: &a0 [x,x,x,x,x,x,x,x,x]"]
    lines += [b"a%d: &a%d [%s]" % (level, level, b",".join([b"*a%d" % (level - 1)] * 9)) for level in range(1, levels)]
    return b"\n".join(lines)


def merges(levels: int) -> bytes:
    """The same with merge keys."""
    lines = [b"a0: &a0 {x: 1}"]
    lines += [b"a%d: &a%d\n  <<: [%s]" % (level, level, b",".join([b"*a%d" % (level - 1)] * 9)) for level in range(1, levels)]
    return b"\n".join(lines)


HOSTILE = {
    "dashes": (b"- " * 50_000, "yaml: exceeded max depth of 10000"),
    "brackets": (b"[" * 50_000, "yaml: exceeded max depth of 10000"),
    "braces": (b"{a: " * 50_000, "yaml: exceeded max depth of 10000"),
    "question marks": (b"? " * 50_000, "yaml: exceeded max depth of 10000"),
    "brackets on lines": (b"[\n" * 50_000, "yaml: line 10001: exceeded max depth of 10000"),
    "aliases": (aliases(9), "yaml: document contains excessive aliasing"),
    "merge keys": (merges(9), "yaml: document contains excessive aliasing"),
    "an alias of itself": (b"a: &x [*x]", "yaml: anchor 'x' value contains itself"),
    "control characters": (b"a: \x07", "yaml: control characters are not allowed"),
    "no UTF-8": (b"a: \xff", "yaml: invalid leading UTF-8 octet"),
}
REFUSED = {
    "300 levels": (b"[" * 300 + b"]" * 300, "YAML nested deeper than 256 levels"),
    "300 levels of dashes": (b"- " * 300, "YAML nested deeper than 256 levels"),
    "9,000 levels and much in them": (b"[" * 9000 + b"a," * 1_000_000, "YAML nested deeper than 256 levels"),
    "levels by aliases": (
        b"a0: &a0 [x]\n" + b"\n".join(b"a%d: &a%d [*a%d]" % (level, level, level - 1) for level in range(1, 300)),
        "YAML nested deeper than 256 levels",
    ),
    "1,500,000 values": (b"[" + b"a," * 1_499_999 + b"a]", "YAML of more than 100000 values"),
    "300,000 lines": (b"- a\n" * 300_000, "YAML of more than 100000 values"),
}


@pytest.mark.parametrize("text", READ)
def test_reading(text: str) -> None:
    """A text is read as the server's library reads it: the same tree, or the same error, and the same strict error."""
    case = READ[text]
    if "error" in case:
        with pytest.raises(goyaml.YamlError) as caught:
            goyaml.read(text.encode())
        assert str(caught.value) == case["error"]
        return
    document = goyaml.read(text.encode())
    assert gojson.encode(document.tree) == gojson.encode(case["read"])
    assert document.strict_error == case.get("strict", "")


@pytest.mark.parametrize("tree", WRITTEN)
def test_writing(tree: str) -> None:
    """A tree is written byte for byte as the server's library writes it, and reads back as itself."""
    decoded = gojson.decode(tree.encode())
    text = goyaml.write(decoded)
    assert text.decode() == WRITTEN[tree]["written"]
    assert goyaml.read(text).tree == gojson.normalised(decoded)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts(name: str) -> None:
    """A text made to crash or occupy the reader is refused in the server's words, within a second."""
    text, message = HOSTILE[name]
    started = time.process_time()
    with pytest.raises(goyaml.YamlError) as caught:
        goyaml.read(text)
    assert str(caught.value) == message
    assert time.process_time() - started < 1


@pytest.mark.parametrize("name", REFUSED)
def test_limits(name: str) -> None:
    """What the server reads and this one does not is refused as unsupported, within a second."""
    text, feature = REFUSED[name]
    started = time.process_time()
    with pytest.raises(Unsupported) as caught:
        goyaml.read(text)
    assert caught.value.feature == feature
    assert time.process_time() - started < 1


def test_the_limit_is_per_document() -> None:
    """A bundle of many documents is read whole, however many values all of them have."""
    assert len(goyaml.read_all(b"---\n" + b"- a\n" * 60_000 + b"---\n" + b"- b\n" * 60_000)) == 2


def test_writing_a_long_list() -> None:
    """A list of 20,000 objects is written within a few seconds, not eighteen."""
    numbers = range(20_000)
    items = [{"metadata": {"name": f"g-{n}", "uid": f"{n:036d}", "labels": {"a": "true"}}, "spec": {"n": n}} for n in numbers]
    started = time.process_time()
    assert goyaml.write({"items": items}).count(b"\n") == 140_001
    assert time.process_time() - started < 3


@pytest.mark.parametrize("text", ["\x7f", "\x85", "a\n\u2028", "\ufeffa"])
def test_texts_that_cannot_be_written(text: str) -> None:
    """A text that the server's library refuses or changes on its way to YAML is refused here."""
    with pytest.raises(Unsupported, match="YAML of texts"):
        goyaml.write({"a": text})
