"""``python -m promptlint``."""

from promptlint.cli.main import main

if __name__ == "__main__":
    main()
