"""The embedded server as tests want it: in process, or over HTTP on a free port."""
