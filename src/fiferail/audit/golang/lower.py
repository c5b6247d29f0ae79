"""Lowering: one Go file from tree-sitter nodes to plain lists that can be stored and sent to another process.

Called by `parse` (in worker processes too) and by `project` when a declaration is needed on demand. It must never look
at another file, and never fail: what it does not know becomes the expression `["?"]`, what does not parse is left out.

Expressions are lists whose first item names them:
    i name | . x name line | c function arguments line typearguments | & x | * x | L type elements line | F function
    [ x index | s x | " text | n text | a x type | b operator left right | T type | ?
Types: n package name arguments | p type | [ type | m key value | f parameters results | S fields embedded | I methods embedded | ?
Statements: = left right operator line | v names type values line | e expression line | if init condition then else line end
    for init condition post body line | rng left expression body line | r values line | d call line | g call line
    sw init tag cases line alias | { statements | br word
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fiferail.audit.golang.lower_types import IR, UNKNOWN, Types
from fiferail.audit.golang.parsing import parsed

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node


class Lowering(Types):
    """Lowers one parsed file. `bodies` says whether function bodies are wanted too."""

    def __init__(self, source: bytes, bodies: bool = True) -> None:
        super().__init__(source)
        self.bodies = bodies
        self.called: set[str] = set()

    def file(self, root: Node) -> dict[str, Any]:
        facts: dict[str, Any] = {
            "package": "",
            "imports": [],
            "types": {},
            "funcs": [],
            "vars": [],
            "bodies": self.bodies,
            "broken": root.has_error,
        }
        for node in root.named_children:
            match node.type:
                case "package_clause":
                    facts["package"] = self.text(node.named_children[0]) if node.named_children else ""
                case "import_declaration":
                    self._imports(node, facts["imports"])
                case "type_declaration":
                    self._types(node, facts["types"])
                case "function_declaration" | "method_declaration":
                    facts["funcs"].append(self.function(node))
                case "var_declaration" | "const_declaration":
                    self._values(node, facts)
        return facts

    def _values(self, node: Node, facts: dict[str, Any]) -> None:
        """Package variables. One that holds a closure is a function too, by that name."""
        self.called = set()
        declared: IR = []
        self._vars(node, declared)
        facts["vars"].extend(declared)
        for one in declared:
            for name, value in zip(one[1], one[3], strict=False):
                if value[0] == "F" and self.bodies:
                    facts["funcs"].append([name, *value[1][1:], sorted(self.called)])

    def _imports(self, node: Node, out: IR) -> None:
        for spec in node.named_children:
            if spec.type == "import_spec_list":
                self._imports(spec, out)
            elif spec.type == "import_spec":
                path = self.text(spec.child_by_field_name("path")).strip('"`')
                out.append([self.text(spec.child_by_field_name("name")), path])

    def _types(self, node: Node, out: dict[str, Any]) -> None:
        for spec in node.named_children:
            if spec.type in ("type_spec", "type_alias"):
                name = self.text(spec.child_by_field_name("name"))
                parameters = self.type_parameters(spec.child_by_field_name("type_parameters"))
                out[name] = [parameters, self.type(spec.child_by_field_name("type")), spec.start_point[0] + 1, spec.type == "type_alias"]

    def _vars(self, node: Node, out: IR) -> None:
        for spec in node.named_children:
            if spec.type == "var_spec_list":
                self._vars(spec, out)
            elif spec.type in ("var_spec", "const_spec"):
                out.append(self._var(spec))

    def _var(self, spec: Node) -> IR:
        names = [self.text(name) for name in spec.children_by_field_name("name") if name.type == "identifier"]
        declared = spec.child_by_field_name("type")
        value = spec.child_by_field_name("value")
        values = [self.expr(child) for child in value.named_children if child.type != "comment"] if value is not None else []
        return ["v", names, None if declared is None else self.type(declared), values, spec.start_point[0] + 1]

    def function(self, node: Node) -> IR:
        """name, receiver name, receiver type, type parameters, parameters, results, body, line, end line, names that it calls."""
        name = self.text(node.child_by_field_name("name"))
        receiver_name, receiver_type = "", None
        receiver = node.child_by_field_name("receiver")
        if receiver is not None:
            for declared in self.parameters(receiver):
                receiver_name, receiver_type = declared[0], declared[1]
        self.called = set()
        return [
            name,
            receiver_name,
            receiver_type,
            self.type_parameters(node.child_by_field_name("type_parameters")),
            self.parameters(node.child_by_field_name("parameters")),
            self.results(node.child_by_field_name("result")),
            self.body(node) if self.bodies else None,
            node.start_point[0] + 1,
            node.end_point[0] + 1,
            sorted(self.called),
        ]

    def body(self, node: Node) -> IR:
        block = node.child_by_field_name("body")
        return [] if block is None else self.block(block)

    # -- statements ----------------------------------------------------------------------------------------------

    def block(self, node: Node) -> IR:
        out: IR = []
        for child in node.named_children:
            if child.type == "statement_list":
                for statement in child.named_children:
                    self.statement(statement, out)
            else:
                self.statement(child, out)
        return out

    def statement(self, node: Node, out: IR) -> None:
        lower = _STATEMENTS.get(node.type)
        if lower is not None:
            lower(self, node, out)

    def _one(self, node: Node | None) -> IR | None:
        if node is None:
            return None
        out: IR = []
        self.statement(node, out)
        return out[0] if out else None

    def _assignment(self, node: Node, out: IR) -> None:
        operator = node.child_by_field_name("operator")
        word = ":=" if node.type == "short_var_declaration" else self.text(operator)
        right = self.exprs(node.child_by_field_name("right"))
        # A method value counts as called: `update := r.Status().Update`.
        self.called.update(value[2] for value in right if value[0] == "." and value[1][0] == "c")
        out.append(["=", self.exprs(node.child_by_field_name("left")), right, word, node.start_point[0] + 1])

    def _step(self, node: Node, out: IR) -> None:
        out.append(["=", [self.expr(node.named_children[0])], [["n", "1"]], "+=", node.start_point[0] + 1])

    def _expression(self, node: Node, out: IR) -> None:
        if node.named_children:
            out.append(["e", self.expr(node.named_children[0]), node.start_point[0] + 1])

    def _declaration(self, node: Node, out: IR) -> None:
        self._vars(node, out)

    def _local_types(self, node: Node, out: IR) -> None:
        types: dict[str, Any] = {}
        self._types(node, types)
        out.append(["ty", types])

    def _if(self, node: Node, out: IR) -> None:
        consequence = node.child_by_field_name("consequence")
        alternative = node.child_by_field_name("alternative")
        otherwise: IR | None = None
        if alternative is not None:
            otherwise = []
            if alternative.type == "block":
                otherwise = self.block(alternative)
            else:
                self.statement(alternative, otherwise)
        out.append(
            [
                "if",
                self._one(node.child_by_field_name("initializer")),
                self.expr(node.child_by_field_name("condition")),
                [] if consequence is None else self.block(consequence),
                otherwise,
                node.start_point[0] + 1,
                node.end_point[0] + 1,
            ]
        )

    def _for(self, node: Node, out: IR) -> None:
        block = node.child_by_field_name("body")
        body = [] if block is None else self.block(block)
        line = node.start_point[0] + 1
        for child in node.named_children:
            if child.type == "range_clause":
                out.append(
                    ["rng", self.exprs(child.child_by_field_name("left")), self.expr(child.child_by_field_name("right")), body, line]
                )
                return
            if child.type == "for_clause":
                condition = child.child_by_field_name("condition")
                out.append(
                    [
                        "for",
                        self._one(child.child_by_field_name("initializer")),
                        None if condition is None else self.expr(condition),
                        self._one(child.child_by_field_name("update")),
                        body,
                        line,
                    ]
                )
                return
        condition = node.named_children[0] if len(node.named_children) > 1 and node.named_children[0].type != "comment" else None
        out.append(["for", None, None if condition is None else self.expr(condition), None, body, line])

    def _return(self, node: Node, out: IR) -> None:
        values = self.exprs(node.named_children[0]) if node.named_children else []
        out.append(["r", values, node.start_point[0] + 1])

    def _defer(self, node: Node, out: IR) -> None:
        word = "d" if node.type == "defer_statement" else "g"
        if node.named_children:
            out.append([word, self.expr(node.named_children[0]), node.start_point[0] + 1])

    def _switch(self, node: Node, out: IR) -> None:
        cases: IR = []
        for child in node.named_children:
            if child.type in ("expression_case", "default_case", "type_case", "communication_case"):
                cases.append(self._case(child))
        alias = node.child_by_field_name("alias")
        tag = node.child_by_field_name("value")
        out.append(
            [
                "sw",
                self._one(node.child_by_field_name("initializer")),
                None if tag is None else self.expr(tag),
                cases,
                node.start_point[0] + 1,
                self.text(alias),
            ]
        )

    def _case(self, node: Node) -> IR:
        """[values, body, types, default]: the case's expressions, or the types of a type switch."""
        body: IR = []
        values: IR = []
        types: IR = []
        heads = {(head.start_byte, head.end_byte) for head in node.children_by_field_name("value") + node.children_by_field_name("type")}
        for child in node.named_children:
            if child.type == "statement_list":
                for statement in child.named_children:
                    self.statement(statement, body)
            elif child.type == "comment":
                continue
            elif node.type == "type_case":
                if (child.start_byte, child.end_byte) in heads:
                    types.append(self.type(child))
                else:
                    self.statement(child, body)
            elif (child.start_byte, child.end_byte) in heads:
                values.extend(self.exprs(child))
            else:
                self.statement(child, body)
        return [values, body, types, node.type == "default_case"]

    def _nested_block(self, node: Node, out: IR) -> None:
        out.append(["{", self.block(node)])

    def _labeled(self, node: Node, out: IR) -> None:
        for child in node.named_children:
            self.statement(child, out)

    def _branch(self, node: Node, out: IR) -> None:
        out.append(["br", node.type.split("_")[0]])

    def _send(self, node: Node, out: IR) -> None:
        value = node.child_by_field_name("value")
        if value is not None:
            out.append(["e", self.expr(value), node.start_point[0] + 1])

    # -- expressions ---------------------------------------------------------------------------------------------

    def exprs(self, node: Node | None) -> IR:
        if node is None:
            return []
        if node.type == "expression_list":
            return [self.expr(child) for child in node.named_children if child.type != "comment"]
        return [self.expr(node)]

    def expr(self, node: Node | None) -> IR:
        if node is None:
            return UNKNOWN
        lower = _EXPRESSIONS.get(node.type)
        return UNKNOWN if lower is None else lower(self, node)

    def _identifier(self, node: Node) -> IR:
        return ["i", self.text(node)]

    def _selector(self, node: Node) -> IR:
        return [".", self.expr(node.child_by_field_name("operand")), self.text(node.child_by_field_name("field")), node.end_point[0] + 1]

    def _call(self, node: Node) -> IR:
        function = self.expr(node.child_by_field_name("function"))
        self.called.add(
            function[2]
            if function[0] == "."
            else function[1]
            if function[0] == "i"
            else function[1][-1]
            if function[0] == "[" and function[1][0] == "i"
            else ""
        )
        if function[0] == "[" and function[1][0] == ".":
            self.called.add(function[1][2])
        arguments = node.child_by_field_name("arguments")
        type_arguments = node.child_by_field_name("type_arguments")
        given = [] if arguments is None else [self._argument(child) for child in arguments.named_children if child.type != "comment"]
        types = [] if type_arguments is None else [self.type_argument(child) for child in type_arguments.named_children]
        return ["c", function, given, node.start_point[0] + 1, types, node.start_point[1] + 1, node.end_point[0] + 1]

    def _argument(self, node: Node) -> IR:
        if node.type in _TYPE_NODES:
            return ["T", self.type(node)]
        if node.type == "variadic_argument":
            return ["...", self.expr(node.named_children[0])] if node.named_children else UNKNOWN
        return self.expr(node)

    def _unary(self, node: Node) -> IR:
        operator = self.text(node.child_by_field_name("operator"))
        inner = self.expr(node.child_by_field_name("operand"))
        return [operator, inner] if operator in ("&", "*") else ["u", operator, inner]

    def _composite(self, node: Node) -> IR:
        body = node.child_by_field_name("body")
        return ["L", self.type(node.child_by_field_name("type")), [] if body is None else self._elements(body), node.start_point[0] + 1]

    def _elements(self, body: Node) -> IR:
        out: IR = []
        for child in body.named_children:
            if child.type == "keyed_element":
                parts = [part for part in child.named_children if part.type != "comment"]
                if len(parts) == 2:
                    key = self.text(parts[0])
                    out.append([key, self._element(parts[1])])
            elif child.type == "literal_element":
                out.append([None, self._element(child)])
        return out

    def _element(self, node: Node) -> IR:
        inner = node.named_children[0] if node.type == "literal_element" and node.named_children else node
        if inner.type == "literal_value":
            return ["L", UNKNOWN, self._elements(inner), inner.start_point[0] + 1]
        return self.expr(inner)

    def _closure(self, node: Node) -> IR:
        return [
            "F",
            [
                "",
                "",
                None,
                [],
                self.parameters(node.child_by_field_name("parameters")),
                self.results(node.child_by_field_name("result")),
                self.body(node),
                node.start_point[0] + 1,
                node.end_point[0] + 1,
            ],
        ]

    def _index(self, node: Node) -> IR:
        return ["[", self.expr(node.child_by_field_name("operand")), self.expr(node.child_by_field_name("index"))]

    def _slice(self, node: Node) -> IR:
        return ["s", self.expr(node.child_by_field_name("operand"))]

    def _string(self, node: Node) -> IR:
        return ['"', self.text(node)[1:-1]]

    def _number(self, node: Node) -> IR:
        return ["n", self.text(node)]

    def _assertion(self, node: Node) -> IR:
        return ["a", self.expr(node.child_by_field_name("operand")), self.type(node.child_by_field_name("type"))]

    def _conversion(self, node: Node) -> IR:
        operand = self.expr(node.child_by_field_name("operand"))
        kind = self.type(node.child_by_field_name("type"))
        function: IR = ["T", kind]
        types: IR = []
        if kind[0] == "n" and kind[3]:
            # `NewBox[*v1.Gadget](client)` looks like a conversion, and nearly always is a call.
            function = [".", ["i", kind[1]], kind[2], node.start_point[0] + 1] if kind[1] else ["i", kind[2]]
            types = kind[3]
            self.called.add(kind[2])
        return ["c", function, [operand], node.start_point[0] + 1, types, node.start_point[1] + 1, node.end_point[0] + 1]

    def _binary(self, node: Node) -> IR:
        left = self.expr(node.child_by_field_name("left"))
        right = self.expr(node.child_by_field_name("right"))
        return ["b", self.text(node.child_by_field_name("operator")), left, right]

    def _parenthesized(self, node: Node) -> IR:
        return self.expr(node.named_children[0]) if node.named_children else UNKNOWN

    def _instantiation(self, node: Node) -> IR:
        base = self.expr(node.named_children[0])
        types = [self.type_argument(child) for child in node.named_children[1:]]
        return ["[", base, ["T", types[0] if types else UNKNOWN]]


_TYPE_NODES = {
    "slice_type",
    "map_type",
    "pointer_type",
    "channel_type",
    "struct_type",
    "array_type",
    "function_type",
    "interface_type",
    "generic_type",
    "qualified_type",
}

_STATEMENTS: dict[str, Callable[[Lowering, Node, IR], None]] = {
    "short_var_declaration": Lowering._assignment,
    "assignment_statement": Lowering._assignment,
    "inc_statement": Lowering._step,
    "dec_statement": Lowering._step,
    "expression_statement": Lowering._expression,
    "var_declaration": Lowering._declaration,
    "const_declaration": Lowering._declaration,
    "type_declaration": Lowering._local_types,
    "if_statement": Lowering._if,
    "for_statement": Lowering._for,
    "return_statement": Lowering._return,
    "defer_statement": Lowering._defer,
    "go_statement": Lowering._defer,
    "expression_switch_statement": Lowering._switch,
    "type_switch_statement": Lowering._switch,
    "select_statement": Lowering._switch,
    "block": Lowering._nested_block,
    "labeled_statement": Lowering._labeled,
    "break_statement": Lowering._branch,
    "continue_statement": Lowering._branch,
    "goto_statement": Lowering._branch,
    "send_statement": Lowering._send,
}

_EXPRESSIONS: dict[str, Callable[[Lowering, Node], IR]] = {
    "identifier": Lowering._identifier,
    "nil": Lowering._identifier,
    "true": Lowering._identifier,
    "false": Lowering._identifier,
    "iota": Lowering._identifier,
    "selector_expression": Lowering._selector,
    "call_expression": Lowering._call,
    "unary_expression": Lowering._unary,
    "composite_literal": Lowering._composite,
    "func_literal": Lowering._closure,
    "index_expression": Lowering._index,
    "slice_expression": Lowering._slice,
    "interpreted_string_literal": Lowering._string,
    "raw_string_literal": Lowering._string,
    "int_literal": Lowering._number,
    "float_literal": Lowering._number,
    "rune_literal": Lowering._number,
    "type_assertion_expression": Lowering._assertion,
    "type_conversion_expression": Lowering._conversion,
    "binary_expression": Lowering._binary,
    "parenthesized_expression": Lowering._parenthesized,
    "type_instantiation_expression": Lowering._instantiation,
}
for _type_node in _TYPE_NODES:
    _EXPRESSIONS[_type_node] = lambda self, node: ["T", self.type(node)]


def lower(source: bytes, bodies: bool = True) -> dict[str, Any]:
    """The facts of one file. One that is nested too deeply, or too hard to parse, is reported as broken, not raised."""
    try:
        root = parsed(source)
        if root is not None:
            return Lowering(source, bodies).file(root)
    except RecursionError:
        pass
    return {"package": "", "imports": [], "types": {}, "funcs": [], "vars": [], "bodies": bodies, "broken": True}
