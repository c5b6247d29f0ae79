"""The writer: status staged in memory, written once, and nobody's update lost.

    shapes, kinds, schemas     which lists are keyed; where a kind is served and which fields it has
    reads, flow, scopes        what was looked at and how closely; own writes that the caller knows; parts that stand on their own
    intents                    what is wanted, as changes for any snapshot
    stage, view                what a session edits
    preconditions, operations, strategies     from a snapshot and intents to one request body
    answers, decide, conversation, duplicates, rerun, once     the protocol, without I/O
    patience, sharing          how long to go on; flushes that meet go together
    effects                    the two drivers
    declared, models, lossy    the status as the caller's own model; an object that came through one
    claims, memory, managers, targets, hooks, said
    core, writer               the verbs
"""
