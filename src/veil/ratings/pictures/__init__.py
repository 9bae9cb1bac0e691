"""Parts of the report that only ratings have."""
