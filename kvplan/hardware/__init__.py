"""Accelerators: the catalogue, look-up by what people type, and the one that is attached."""
