"""One file a family: ``MODEL_TYPES`` it claims, and ``build(cfg)`` that turns a config into a ModelSpec."""
