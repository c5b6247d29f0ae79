"""Lowering of types: from tree-sitter nodes to the lists that `lower` describes.

The base of `lower.Lowering`; it looks at type nodes only and never fails: what it does not know is `["?"]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tree_sitter import Node

IR = list[Any]

UNKNOWN: IR = ["?"]


class Types:
    """Types, parameters and results of one parsed file."""

    def __init__(self, source: bytes) -> None:
        self.source = source

    def text(self, node: Node | None) -> str:
        return "" if node is None else self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def parameters(self, node: Node | None) -> IR:
        """[name, type, variadic] each; an unnamed one has an empty name."""
        if node is None:
            return []
        out: IR = []
        for declared in node.named_children:
            if declared.type not in ("parameter_declaration", "variadic_parameter_declaration"):
                continue
            variadic = declared.type == "variadic_parameter_declaration"
            kind = self.type(declared.child_by_field_name("type"))
            if variadic:
                kind = ["[", kind]
            names = declared.children_by_field_name("name")
            out.extend([self.text(name), kind, variadic] for name in names) if names else out.append(["", kind, variadic])
        return out

    def results(self, node: Node | None) -> IR:
        if node is None:
            return []
        if node.type == "parameter_list":
            return self.parameters(node)
        return [["", self.type(node), False]]

    def type_parameters(self, node: Node | None) -> IR:
        if node is None:
            return []
        out: IR = []
        for declaration in node.named_children:
            constraint = declaration.child_by_field_name("type")
            bound = UNKNOWN
            if constraint is not None:
                inner = constraint.named_children[0] if constraint.type == "type_constraint" and constraint.named_children else constraint
                bound = self.type(inner)
            out.extend([self.text(name), bound] for name in declaration.children_by_field_name("name"))
        return out

    def type(self, node: Node | None) -> IR:
        if node is None:
            return UNKNOWN
        match node.type:
            case "type_identifier" | "identifier":
                return ["n", "", self.text(node), []]
            case "qualified_type":
                return ["n", self.text(node.child_by_field_name("package")), self.text(node.child_by_field_name("name")), []]
            case "selector_expression":
                return ["n", self.text(node.child_by_field_name("operand")), self.text(node.child_by_field_name("field")), []]
            case "pointer_type":
                return ["p", self.type(node.named_children[0])] if node.named_children else UNKNOWN
            case "unary_expression":
                return ["p", self.type(node.child_by_field_name("operand"))]
            case "slice_type" | "array_type" | "implicit_length_array_type":
                return ["[", self.type(node.child_by_field_name("element"))]
            case "channel_type":
                return ["[", self.type(node.child_by_field_name("value")), "channel"]
            case "map_type":
                return ["m", self.type(node.child_by_field_name("key")), self.type(node.child_by_field_name("value"))]
            case "function_type":
                return ["f", self.parameters(node.child_by_field_name("parameters")), self.results(node.child_by_field_name("result"))]
            case "struct_type":
                return self._struct(node)
            case "interface_type":
                return self._interface(node)
            case "generic_type":
                base = self.type(node.child_by_field_name("type"))
                arguments = node.child_by_field_name("type_arguments")
                if base[0] == "n" and arguments is not None:
                    base[3] = [self.type_argument(child) for child in arguments.named_children]
                return base
            case "parenthesized_type" | "type_elem" | "negated_type":
                return self.type(node.named_children[0]) if node.named_children else UNKNOWN
            case _:
                return UNKNOWN

    def type_argument(self, node: Node) -> IR:
        return self.type(node.named_children[0]) if node.type == "type_elem" and node.named_children else self.type(node)

    def _struct(self, node: Node) -> IR:
        fields: IR = []
        embedded: IR = []
        for declaration_list in node.named_children:
            for declaration in declaration_list.named_children:
                if declaration.type != "field_declaration":
                    continue
                kind = self.type(declaration.child_by_field_name("type"))
                names = declaration.children_by_field_name("name")
                if names:
                    fields.extend([self.text(name), kind] for name in names)
                else:
                    embedded.append(kind)
        return ["S", fields, embedded]

    def _interface(self, node: Node) -> IR:
        methods: IR = []
        embedded: IR = []
        for element in node.named_children:
            if element.type == "method_elem":
                methods.append(
                    [
                        self.text(element.child_by_field_name("name")),
                        self.parameters(element.child_by_field_name("parameters")),
                        self.results(element.child_by_field_name("result")),
                    ]
                )
            elif element.type == "type_elem":
                embedded.extend(self.type(child) for child in element.named_children)
        return ["I", methods, embedded]
