"""The console: pages for support staff, rendered here, that need no script.

One request is a `Visit` of a known operator (visit.py, auth.py); routes.py says which page it asks for; each page is a module
that reads a bounded number of documents and a template. Whatever changes something is in acts.py, and asks first.
"""
