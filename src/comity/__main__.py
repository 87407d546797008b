"""`python -m comity` is the same as `comity`."""

from comity.cli import main

if __name__ == "__main__":
    main()
