"""One file a verb, each with its ``COMMAND``."""
