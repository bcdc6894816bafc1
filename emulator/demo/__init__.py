"""The demo: production-shaped data, everything that goes wrong at once, and the count of what came of it."""
