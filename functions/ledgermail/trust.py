"""The authorities whose certificates are believed. Read once and when needed: it takes 20 ms or more."""

import os
import ssl
from functools import cache

import certifi


@cache
def authorities() -> ssl.SSLContext:
    """certifi's, whatever the environment says: for addresses that customers name."""
    return ssl.create_default_context(cafile=certifi.where())


def of_environment() -> ssl.SSLContext:
    """Those that SSL_CERT_FILE and SSL_CERT_DIR name, as for a gateway that looks into what leaves; else certifi's."""
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    return ssl.create_default_context(cafile=file, capath=folder) if file or folder else authorities()
