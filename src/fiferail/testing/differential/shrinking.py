"""Makes a differing conversation small: fewer steps, then smaller bodies, while the same difference stays.

A candidate counts when its first difference has the same signature, so shrinking never wanders off to another defect. The
budget is a number of tries: each one talks to two servers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fiferail.testing.differential.compare import Difference
    from fiferail.testing.differential.conversations import Conversation, Step

TRIES = 300


def shrunk(
    conversation: Conversation, difference: Difference, judge: Callable[[Conversation], Difference | None], tries: int = TRIES
) -> tuple[Conversation, Difference]:
    """The smallest conversation found that still shows the difference, and the difference as it shows it."""
    budget = [tries]

    def still(candidate: Conversation) -> Difference | None:
        if budget[0] <= 0:
            return None
        budget[0] -= 1
        found = judge(candidate)
        return found if found is not None and found.signature == difference.signature else None

    if difference.step is not None:
        cut = msgspec.structs.replace(conversation, steps=conversation.steps[: difference.step + 1])
        conversation, difference = (cut, found) if (found := still(cut)) else (conversation, difference)
    for smaller in (_fewer_steps, _smaller_steps, _fewer_steps):
        conversation, difference = smaller(conversation, difference, still)
    return conversation, difference


def _fewer_steps(
    conversation: Conversation, difference: Difference, still: Callable[[Conversation], Difference | None]
) -> tuple[Conversation, Difference]:
    """Drops runs of steps, long ones first, from the end."""
    size = max(1, len(conversation.steps) // 2)
    while size >= 1:
        end = len(conversation.steps)
        while end > 0:
            steps = conversation.steps[: max(0, end - size)] + conversation.steps[end:]
            candidate = msgspec.structs.replace(conversation, steps=steps)
            if steps and (found := still(candidate)):
                conversation, difference = candidate, found
            end -= size
        size //= 2
    return conversation, difference


def _smaller_steps(
    conversation: Conversation, difference: Difference, still: Callable[[Conversation], Difference | None]
) -> tuple[Conversation, Difference]:
    """Takes members out of bodies and queries, one at a time, as long as that works."""
    for index in range(len(conversation.steps)):
        progress = True
        while progress:
            progress = False
            for step in _simpler(conversation.steps[index]):
                steps = [*conversation.steps[:index], step, *conversation.steps[index + 1 :]]
                candidate = msgspec.structs.replace(conversation, steps=steps)
                if found := still(candidate):
                    conversation, difference, progress = candidate, found, True
                    break
    return conversation, difference


def _simpler(step: Step) -> Iterator[Step]:
    """The step with one thing less."""
    for name in step.query:
        yield msgspec.structs.replace(step, query={key: text for key, text in step.query.items() if key != name})
    for position in range(len(step.edits)):
        yield msgspec.structs.replace(step, edits=step.edits[:position] + step.edits[position + 1 :])
    for body in without_one(step.body):
        yield msgspec.structs.replace(step, body=body)
    for position, (where, content) in enumerate(step.edits):
        for smaller in without_one(content):
            yield msgspec.structs.replace(step, edits=[*step.edits[:position], (where, smaller), *step.edits[position + 1 :]])


def without_one(tree: Any) -> Iterator[Any]:
    """The tree without one member or element, outermost first."""
    if isinstance(tree, dict):
        for name in tree:
            yield {key: member for key, member in tree.items() if key != name}
        for name, member in tree.items():
            for smaller in without_one(member):
                yield {**tree, name: smaller}
    elif isinstance(tree, list):
        for index in range(len(tree)):
            yield tree[:index] + tree[index + 1 :]
        for index, member in enumerate(tree):
            for smaller in without_one(member):
                yield [*tree[:index], smaller, *tree[index + 1 :]]
