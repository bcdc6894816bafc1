"""Scheduled email that goes out as often as promised: a delivery ledger on Firestore."""
