"""One file for each cause that a log can show: ``SIGNS`` that point at it, ``applies`` where the sign alone does not tell, and the
finding with its cures."""
