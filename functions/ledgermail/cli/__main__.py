"""`python -m ledgermail.cli`."""

import sys

from ledgermail.cli import main

if __name__ == "__main__":
    sys.exit(main())
