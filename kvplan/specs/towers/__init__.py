"""One file a kind of vision or audio tower: the ``MODEL_TYPES`` it builds, and ``build(cfg)`` that turns its config into a Tower.

What a config leaves out is what the kind's own configuration class has, since saved configs omit it.
"""
