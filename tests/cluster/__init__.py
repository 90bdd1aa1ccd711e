"""Real processes over a real PostgreSQL, and what happens to them."""
