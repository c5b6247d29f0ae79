"""The shapes of names, under the roof of the API server: see `objects.names`."""

from __future__ import annotations

from ..objects.names import dns1035_label, dns_label, dns_subdomain, label_value, masked, path_segment, qualified_name, regex_text

__all__ = ["dns1035_label", "dns_label", "dns_subdomain", "label_value", "masked", "path_segment", "qualified_name", "regex_text"]
