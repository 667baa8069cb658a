"""Features: item tables, keyed stores, and the one implementation of every transform."""
