"""Steps of the funnel."""
