"""Upkeep: what got stuck goes on, and what is old goes."""
