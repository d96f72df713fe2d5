"""What families are built of: blocks, attention of each kind, mixtures, recurrences, decoders, and what wraps them."""
