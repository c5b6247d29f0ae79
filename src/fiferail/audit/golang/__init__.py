"""The Go front end: tree-sitter in, sites and facts out. No Go toolchain is needed.

`lower` turns one file into plain lists, so that the result can be cached and sent between processes. `project` knows
packages and finds declarations on demand. `types` says what an expression is. `walk` follows one function. `writes` decides what a call
writes. `controllers` says who runs a function. Nothing here judges: the rules do.
"""
