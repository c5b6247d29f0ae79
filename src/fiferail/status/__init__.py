"""The writer: status staged in memory, written once, and nobody's update lost.

    shapes          which lists are keyed
    intents         what is wanted, as changes for any snapshot
    stage, view     what a session edits, and what it looked at
    preconditions, operations, strategies    from a snapshot and intents to one request body
    answers, decide, conversation, once      the protocol, without I/O
    sharing, pacing  flushes that meet go together; writers that do not know each other give way
    effects         the two drivers
    claims, memory, managers, targets, schemas, models, hooks
    core, writer    the verbs
"""
