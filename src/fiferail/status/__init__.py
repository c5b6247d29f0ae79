"""The writer: status staged in memory, written once, and nobody's update lost.

    shapes          which lists are keyed
    intents         what is wanted, as changes for any snapshot
    stage, view     what a session edits, and what it looked at
    preconditions, operations, strategies    from a snapshot and intents to one request body
    answers, decide, conversation, once      the protocol, without I/O
    sharing, pacing  flushes that meet go together; writers that do not know each other give way
    effects         the two drivers
    claims, memory, managers, targets, schemas, hooks
    declared, models   the status as the caller's own model
    lossy           an object that came through a typed model, put on the real one
    core, writer    the verbs
"""
