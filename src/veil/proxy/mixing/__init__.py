"""How variants leave: mixed, in random order, spread over time, and each once."""
