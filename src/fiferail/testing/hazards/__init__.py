"""The hazards of status writes, against every way of writing, on any server.

    place       where it happens: a server with the Gadget CRD, actors on it, objects of their own for every scenario
    ways        eight ways to write a status, from PUT to fiferail's default
    scenarios   eighteen small stories of two actors, each with what must be true at the end
    matrix      one story told with one way, and its verdict: kept, told, LOST or loops
    page        the verdicts as docs/hazards.md
"""
