"""The shapes of names: DNS labels and subdomains, qualified names, label values, path segments.

Each check returns the server's complaints, none when the name is good. Mirrors apimachinery's `validate/content`. The checks of
metadata, selectors, CRDs and embedded resources call these.
"""

from __future__ import annotations

import re

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = _LABEL + "(\\." + _LABEL + ")*"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_DNS1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"

_ALNUM = "must start and end with an alphanumeric character"
_LABEL_TEXT = f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and {_ALNUM}"
_SUBDOMAIN_TEXT = f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and {_ALNUM}"
_QUALIFIED_TEXT = f"must consist of alphanumeric characters, '-', '_' or '.', and {_ALNUM}"
_VALUE_TEXT = f"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and {_ALNUM}"
_DNS1035_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character"
)

_label_shape = re.compile(_LABEL)
_subdomain_shape = re.compile(_SUBDOMAIN)
_qualified_shape = re.compile(_QUALIFIED)
_dns1035_shape = re.compile(_DNS1035)


def regex_text(text: str, pattern: str, *examples: str) -> str:
    """A complaint about a shape, with examples and the pattern."""
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{text} (e.g. {shown}regex used for validation is '{pattern}')"


def _too_long(limit: int) -> str:
    return f"must be no more than {limit} bytes"


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def dns_label(name: str) -> list[str]:
    """RFC 1123 label: namespaces."""
    problems = [_too_long(63)] if _size(name) > 63 else []
    if not _label_shape.fullmatch(name):
        dotted = _subdomain_shape.fullmatch(name)
        problems.append("must not contain dots" if dotted else regex_text(_LABEL_TEXT, _LABEL, "my-name", "123-abc"))
    return problems


def dns1035_label(name: str) -> list[str]:
    """RFC 1035 label: services."""
    problems = ["must be no more than 63 characters"] if _size(name) > 63 else []
    if not _dns1035_shape.fullmatch(name):
        problems.append(regex_text(_DNS1035_TEXT, _DNS1035, "my-name", "abc-123"))
    return problems


def dns_subdomain(name: str) -> list[str]:
    """RFC 1123 subdomain: most objects."""
    problems = [_too_long(253)] if _size(name) > 253 else []
    if not _subdomain_shape.fullmatch(name):
        problems.append(regex_text(_SUBDOMAIN_TEXT, _SUBDOMAIN, "example.com"))
    return problems


def qualified_name(name: str) -> list[str]:
    """Label keys, finalizers, condition types."""
    prefix, slash, rest = name.partition("/")
    if "/" in rest:
        shape = regex_text(_QUALIFIED_TEXT, _QUALIFIED, "MyName", "my.name", "123-abc")
        return [f"a valid label key {shape} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    problems = []
    if slash:
        problems = ["prefix part must be non-empty"] if not prefix else [f"prefix part {text}" for text in dns_subdomain(prefix)]
        name = rest
    if not name:
        problems.append("name part must be non-empty")
    elif _size(name) > 63:
        problems.append(f"name part {_too_long(63)}")
    if not _qualified_shape.fullmatch(name):
        problems.append("name part " + regex_text(_QUALIFIED_TEXT, _QUALIFIED, "MyName", "my.name", "123-abc"))
    return problems


def label_value(value: str) -> list[str]:
    """Values of labels."""
    problems = [_too_long(63)] if _size(value) > 63 else []
    if value and not _qualified_shape.fullmatch(value):
        problems.append(regex_text(_VALUE_TEXT, f"({_QUALIFIED})?", "MyValue", "my_value", "12345"))
    return problems


def path_segment(name: str) -> list[str]:
    """What may stand in a URL: the weakest check, for every kind."""
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{char}'" for char in "/%" if char in name]


def masked(prefix: str) -> str:
    """A generateName prefix as it is checked: a trailing dash stands for the suffix to come."""
    return prefix[:-2] + "a" if len(prefix) > 1 and prefix.endswith("-") else prefix
