"""The ledger: what was released when, under which hashes, with which key."""
