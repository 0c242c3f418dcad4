"""proctor examines robot policies."""
