"""`python -m fiferail`."""

from fiferail.cli import main

if __name__ == "__main__":
    main()
