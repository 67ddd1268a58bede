"""What the parts of this benchmark share."""
