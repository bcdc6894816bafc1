"""Preferences: the link in every mail, and what a person chooses behind it."""
