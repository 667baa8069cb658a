"""What can be put under load."""
