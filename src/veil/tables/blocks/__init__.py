"""Tables in files that need not fit into memory, on one machine or on a cluster."""
