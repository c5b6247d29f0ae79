"""Conversations on disk: each one once showed a difference, and is held again on both servers by the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fiferail.testing.differential.conversations import Conversation

if TYPE_CHECKING:
    from pathlib import Path


def save(path: Path, conversation: Conversation) -> None:
    """Writes one conversation, readable and stable."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(conversation), indent=1) + b"\n")


def load(path: Path) -> Conversation:
    """Reads one back."""
    return msgspec.json.decode(path.read_bytes(), type=Conversation)
