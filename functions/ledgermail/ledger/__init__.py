"""The ledger: what a delivery is, how it may change, and the one place that reads and changes it."""
