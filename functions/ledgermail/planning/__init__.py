"""Planning: what is owed, found and put into the ledger: alerts by scan, digests and reports by run."""
