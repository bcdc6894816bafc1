"""Delivering: from a task to a settled attempt: may it go, what does it say, and what came of it."""
