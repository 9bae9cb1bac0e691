"""The ledger of past releases: hashed queries, costs and the key."""
