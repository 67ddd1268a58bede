"""What labels are called, how spans are written in them, and what mistakes cost."""
