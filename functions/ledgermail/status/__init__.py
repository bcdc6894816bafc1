"""Status: what became of everything of late, whether the promise is kept, and what finding out costs."""
