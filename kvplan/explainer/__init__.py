"""What to read about a rule or a term: its manual page."""
