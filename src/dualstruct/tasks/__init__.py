"""A room for each kind of output: what is learned from data, explanations, confidence, suspects."""
