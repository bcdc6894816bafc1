"""Chaos: everything goes wrong for minutes, then nothing does; what came of every delivery is held against the promise."""
