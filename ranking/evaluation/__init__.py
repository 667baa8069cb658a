"""How good rankings are: metrics, negatives to compare with, and how sure one may be."""
