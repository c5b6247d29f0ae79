"""A real kube-apiserver and etcd: built once, started on free ports, gone afterwards.

`build` gets the binaries, `launch` runs them, `proxy` stands in front to count requests and to make faults. The conformance
suite and the fuzzer hold the embedded server against this one.
"""
