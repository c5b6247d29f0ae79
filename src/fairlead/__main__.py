"""`python -m fairlead`."""

from fairlead.cli import main

if __name__ == "__main__":
    main()
