"""Private search: gate, sticky variants, ledger, pre-flight check and mixing."""
