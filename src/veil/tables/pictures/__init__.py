"""Pictures of tables before and after; none shows a value or a record."""
