"""What happened to objects, and what was lost on the way. PURE.

records     commits, observations and refused attempts, as a server, a proxy or an explorer saw them
auditlog    records from the audit log of a kube-apiserver
places      the fields of one object as a tree, each with its last writer
leaves      the leaves that differ between two versions, keyed lists entry by entry
asserted    which leaves a request meant to write
findings    what can be found
memory      what is kept of one object
losses      what one commit destroyed
loops       fights and hot loops
checker     finds lost updates and their relatives in a stream of records
words       one finding as a sentence that names both writers, the field, before and after
"""
