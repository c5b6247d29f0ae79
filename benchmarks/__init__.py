"""Benchmarks: ratios measured side by side in one run. `python -m benchmarks` runs all and renders docs/benchmarks.md."""
