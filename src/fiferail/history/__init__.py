"""What happened to objects, and what was lost on the way. PURE.

Modules, in the order in which they build on each other:

    records     commits, observations and refused attempts, as a server, a proxy or an explorer saw them
    auditlog    records from the audit log of a kube-apiserver
    keys        by which members the entries of a list are told apart
    places      the fields of one object as a tree, each with its last writer
    leaves      the leaves that differ between two versions, keyed lists entry by entry
    asserted    which leaves a request meant to write, and what it replaced as a whole
    findings    what can be found, and how sure it is
    memory      what is kept of one object
    refusals    refused attempts: made good, decided anew, laundered, abandoned
    losses      what one commit destroyed, its base being known
    witnesses   what one commit destroyed, its base being unknown: old values in what was sent
    loops       fights, hot loops and waste
    checker     finds lost updates and their relatives in a stream of records
    words       one finding as sentences: both writers, the field, before and after, how sure, and what to do
"""
