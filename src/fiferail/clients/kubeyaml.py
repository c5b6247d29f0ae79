"""YAML as kubectl reads a kubeconfig. Needs PyYAML, from the extra `connect`.

kubectl turns the YAML into JSON and decodes that into typed fields: dates and `12:30` stay text, `y` is true. An error never
quotes the file: a line of a kubeconfig may be a token. Aliases and merge keys are bounded, as they are in kubectl's parser.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

import yaml

#: Levels of one file, aliases in it, and members of one mapping after its merge keys.
DEPTH, ALIASES, MEMBERS = 100, 1000, 10_000

_BOOL, _INT, _FLOAT, _TIMESTAMP = (f"tag:yaml.org,2002:{name}" for name in ("bool", "int", "float", "timestamp"))
_BOOLEANS = re.compile(r"^(?:y|Y|yes|Yes|YES|n|N|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$")
_INTEGERS = re.compile(r"^[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]+|0|[1-9][0-9_]*)$")
_FLOATS = re.compile(r"^(?:[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$")


class NotYaml(Exception):
    """Where the file stops being YAML. Holds no text of the file."""


class _Loader(yaml.SafeLoader):
    """Plain data only; the scalars of kubectl's parser; bounded aliases."""

    bool_values: ClassVar[dict[str, bool]] = {**yaml.SafeLoader.bool_values, "y": True, "n": False}
    aliases = 0
    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Count the levels and the aliases."""
        if self.check_event(yaml.AliasEvent):
            self.aliases += 1
            if self.aliases > ALIASES:
                raise NotYaml(f"it has more than {ALIASES} aliases")
        self.depth += 1
        if self.depth > DEPTH:
            raise NotYaml(f"it is nested deeper than {DEPTH} levels")
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1

    def flatten_mapping(self, node: Any) -> None:
        """Bound what merge keys multiply."""
        super().flatten_mapping(node)
        if len(node.value) > MEMBERS:
            raise NotYaml(f"its merge keys make a mapping of more than {MEMBERS} members")


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in (_BOOL, _INT, _FLOAT, _TIMESTAMP)]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(_BOOL, _BOOLEANS, list("yYnNtTfFoO"))
_Loader.add_implicit_resolver(_INT, _INTEGERS, list("-+0123456789"))
_Loader.add_implicit_resolver(_FLOAT, _FLOATS, list("-+0123456789."))


def parsed(text: str) -> Any:
    """Return the document; raise NotYaml, which says where and never what."""
    loader = None
    try:
        loader = _Loader(text)
        return loader.get_single_data()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
        raise NotYaml(f"it is not valid YAML{place}") from None
    except yaml.YAMLError:
        raise NotYaml("it is not valid YAML") from None
    except (ValueError, TypeError, AttributeError):  # a tag such as !!int on what is none
        raise NotYaml("it has a value that does not fit its tag") from None
    finally:
        if loader is not None:
            loader.dispose()
