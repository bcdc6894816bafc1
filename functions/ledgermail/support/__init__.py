"""Support: why somebody got a mail or did not, and what operators do about it, on record."""
