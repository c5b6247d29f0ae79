"""A differing conversation as text that a person reads top to bottom: what was sent, and what each server said at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairlead.testing.differential.compare import compact

if TYPE_CHECKING:
    from fairlead.testing.differential.compare import Difference
    from fairlead.testing.differential.conversations import Conversation, Step
    from fairlead.testing.differential.runner import Run


def transcript(conversation: Conversation, difference: Difference, runs: tuple[Run, Run], names: tuple[str, str]) -> str:
    """The whole story of one difference."""
    where = f"step {difference.step + 1}" if difference.step is not None else "the watch"
    lines = [f"# {conversation.origin}: {names[0]} and {names[1]} differ at {where}, {difference.path}"]
    for crd in conversation.crds:
        plural, versions = crd["spec"]["names"]["plural"], crd["spec"]["versions"]
        lines += [f"# {plural} {version['name']}: {compact(version['schema']['openAPIV3Schema'], 1500)}" for version in versions]
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


def _short(body: bytes) -> Any:
    text = body.decode(errors="replace").strip()
    return text if len(text) <= 160 else f"{text[:160]} ..."
