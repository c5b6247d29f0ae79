"""One module per verb. Each has one entry, `handle(machine, target, request)`, and all share the write path in `writing.py`."""
