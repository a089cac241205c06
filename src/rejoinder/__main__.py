"""``python -m rejoinder``."""

from rejoinder.cli import main

if __name__ == "__main__":
    main()
