"""The sensitivity gate: rules of the user's own, and how a query is held against them."""
