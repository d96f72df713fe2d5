"""One folder an engine; ``NAMES`` in its ``__init__`` are what people type after ``--engine``."""
