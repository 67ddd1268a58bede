"""Models inside other libraries: a component of spaCy, a tagger of NLTK. Neither is needed by
anything else."""
