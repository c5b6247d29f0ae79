"""The embedded API server.

    machine     one door: a request in, an answer or a stream out          routes, options, selectors, call: what a request means
    store       objects, the one revision, the log                         verbs/: one module per verb, `writing` for what writes share
    kinds       what a served kind is                                      builtin/: Kubernetes' own; custom, crds: those of users
    statuses    refusals, verbatim                                         metadata, ownership: ObjectMeta and managedFields
    faults      trouble on request                                         recording: who read and wrote what
    collector   garbage collection and namespaces (off by default)         inprocess: transports without a socket
    http, discovery, openapi, tables, reviews: the shell                   real/: the real kube-apiserver
"""
