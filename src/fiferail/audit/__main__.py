"""`python -m fiferail.audit PATH...`: the same command as `fiferail audit`, for whoever has the module and not the script.

The command line lives in another package, so it is found by name at run time and not imported.
"""

import sys
from importlib import import_module

if __name__ == "__main__":
    import_module("fiferail.cli").main(["audit", *sys.argv[1:]])
