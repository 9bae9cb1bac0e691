"""What releases of tables keep, lose, and hide: one measure, one file."""
