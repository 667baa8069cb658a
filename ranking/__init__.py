"""The funnel and its stages, policy and training: who wins."""
