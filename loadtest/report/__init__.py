"""What a load test found, for people: one HTML file, and the comparison of two runs."""
