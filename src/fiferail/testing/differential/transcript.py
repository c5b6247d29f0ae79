"""A differing conversation as text that a person reads top to bottom: what was sent, and what each server said at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fiferail.testing.differential.compare import compact

if TYPE_CHECKING:
    from fiferail.testing.differential.compare import Difference
    from fiferail.testing.differential.conversations import Conversation, Step
    from fiferail.testing.differential.runner import Run


def transcript(conversation: Conversation, difference: Difference, runs: tuple[Run, Run], names: tuple[str, str]) -> str:
    """The whole story of one difference."""
    where = f"step {difference.step + 1}" if difference.step is not None else "the watch"
    lines = [f"# {conversation.origin}: {names[0]} and {names[1]} differ at {where}, {difference.path}"]
    lines += [line for crd in conversation.crds for line in _schemas(crd, str(conversation.steps))]
    for index, step in enumerate(conversation.steps):
        lines += [spelled(step), "----"]
        if index == difference.step:
            break
        lines.append(f"{runs[0].heard[index].code} {_short(runs[0].heard[index].body)}")
    lines += [f"{name:>8}: {compact(said, 700)}" for name, said in zip(names, (difference.left, difference.right), strict=True)]
    answers = difference.left_answer, difference.right_answer
    lines += [f"{name:>8} in full: {compact(said, 3000)}" for name, said in zip(names, answers, strict=True)]
    return "\n".join(lines)


def spelled(step: Step) -> str:
    """One request on one line."""
    query = "&".join(f"{name}={text}" for name, text in step.query.items())
    line = f"{step.method}{f' ({step.type})' if step.type else ''} {step.path}{f'?{query}' if query else ''}"
    if step.base is not None:
        line += f"  {step.base} as last seen"
        for place, content in step.edits:
            line += f", {'.'.join(map(str, place))} = {compact(content)}"
    elif step.body is not None:
        line += f"  {compact(step.body, 1500)}"
    return line


def _schemas(crd: dict[str, Any], mentioned: str) -> list[str]:
    """The schemas of the served versions, cut down to the fields of spec and status that the conversation mentions."""
    shown: dict[str, str] = {}
    for version in crd["spec"]["versions"]:
        schema = version["schema"]["openAPIV3Schema"]
        parts = {}
        for part in ("spec", "status"):
            node = schema.get("properties", {}).get(part, {})
            declared = node.get("properties", {}).items()
            fields = {name: field for name, field in declared if f"'{name}'" in mentioned or f"/{name}" in mentioned}
            parts[part] = {**node, "properties": fields}
        whole = {name: member for name, member in schema.items() if name not in ("properties", "type")}
        text = compact({**whole, **parts}, 1200)
        shown[text] = f"{shown[text]}, {version['name']}" if text in shown else version["name"]
    return [f"# {crd['spec']['names']['plural']} {names}: {text}" for text, names in shown.items()]


def _short(body: bytes) -> Any:
    text = body.decode(errors="replace").strip()
    return text if len(text) <= 160 else f"{text[:160]} ..."
