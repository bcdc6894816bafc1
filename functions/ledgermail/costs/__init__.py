"""Costs: what a deployment costs a month, by the operations that it asks for."""
