"""The differential fuzzer: random CRDs and conversations, held on two servers at once, compared answer by answer.

`schemas` and `conversations` invent, `runner` speaks, `canonical` makes two answers comparable, `compare` finds the first
difference, `shrinking` makes it small, `transcript` writes it down, `cases` keeps it. Everything random comes from a seed.
"""
