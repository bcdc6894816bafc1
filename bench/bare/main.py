"""What the cold starts are compared with: a function that makes the same Firestore client and reads one document."""

import functools
import os

import functions_framework
from flask import Request
from google.cloud import firestore


@functools.cache
def client() -> firestore.Client:
    """One client an instance."""
    return firestore.Client(project=os.environ["LEDGERMAIL_PROJECT"])


@functions_framework.http
def bare(_request: Request) -> str:
    """Read a document that need not be there."""
    client().document("state/gate").get()
    return "read"
