"""Find personal data in texts, and replace it before a mechanism runs."""
