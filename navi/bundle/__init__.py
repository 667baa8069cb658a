"""A directory that deploys as one: configuration, models, tables, indexes, features."""
