"""A room for each kind of output: what training data tell, explanations, confidence, suspects."""
