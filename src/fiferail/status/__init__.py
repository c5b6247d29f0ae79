"""The writer: status staged in memory, written once, and nobody's update lost.

    shapes, kinds, schemas     which lists are keyed; where a kind is served and which fields it has
    reads, flow, scopes        what was looked at and how closely; own writes that the caller knows; parts that stand on their own
    intents                    what is wanted, as changes for any snapshot
    stage, view                what a session edits
    preconditions, operations, strategies     from a snapshot and intents to one request body
    answers, decide, conversation, duplicates     the protocol of one write, without I/O
    rerun, once                `mutate` and `create_once`, without I/O
    patience, sharing          how long to go on; flushes that meet go together
    effects                    the two drivers
    declared, models, lossy    the status as the caller's own model; an object that came through one
    claims, targets, managers  who may write a path; which object a write is about; who wrote a field
    memory                     what the writer remembers between writes
    hooks, prometheus, said    what operators see of writes; what a write says to the checker
    core, writer               the verbs
"""
