"""The console's screenshots, of a ledger that is made up: `python -m emulator.screenshots`."""
