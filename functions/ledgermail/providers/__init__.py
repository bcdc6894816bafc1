"""Providers: who takes our mail, each with its own message, edge and table of answers."""
