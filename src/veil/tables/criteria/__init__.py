"""What a class of rows that look alike must satisfy: its size, and its confidential values."""
