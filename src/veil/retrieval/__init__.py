"""Private search: engines that see only variants, fusion, and re-ranking by the true query."""
