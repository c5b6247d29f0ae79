"""YAML as the server reads and writes it: sigs.k8s.io/yaml, which stands on go.yaml.in/yaml/v2.

    bytes -> nodes (bounded) -> decode (aliases, merge keys, duplicate keys) -> a JSON tree
    a JSON tree -> write -> bytes

Everything that reads YAML from outside uses `read` or `read_all`: request bodies, manifests, the recorder of requests. No input
makes them recurse without a bound, expand aliases without a bound, or take longer than their limits allow.
"""

from __future__ import annotations

from .decode import Document, read, read_all
from .emit import write
from .nodes import YamlError

__all__ = ["Document", "YamlError", "read", "read_all", "write"]
