"""Candidate sources, blending and filters: who comes into question."""
