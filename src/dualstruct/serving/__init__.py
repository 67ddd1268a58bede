"""A page for a model, and a JSON interface beside it: ``dualstruct serve``."""
