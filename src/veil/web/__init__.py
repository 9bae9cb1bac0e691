"""The private search page and its HTTP interface, on this machine."""
