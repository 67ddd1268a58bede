"""``python -m dualstruct`` is the command ``dualstruct``."""

from dualstruct.cli import main

if __name__ == "__main__":
    main()
