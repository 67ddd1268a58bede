"""Outputs of users' own structures."""
