"""One file a family: ``MODEL_TYPES`` it claims, and ``build(cfg)`` that turns a config into a ModelSpec.

To add a family, add ``<family>.py`` here; nothing registers it. ``MODEL_TYPES`` are the values of ``model_type`` it answers
to, each in double quotes (the file is found by that text); ``ARCHITECTURES`` are class names that decide where the
config carries another family's ``model_type``, and ``HEAD_IN_BASE = True`` says that the class without ``ForCausalLM`` in
its name has the output projection too. ``build(cfg)`` reads every key that changes parameters or cache, with the defaults
of the configuration class, and composes layers of ``kvplan.specs.parts``: ``decoder(cfg, Style(...), form)`` where the
family is a usual decoder, ``assemble(cfg, layers, ...)`` of blocks where it is not; adapters never import each other. Its
``ActivationForm`` says what a pass holds for a moment; leave ``checked=False`` until a trace of the modeling code is in
``tests/data/traces`` and agrees. Cases, small configs with the parameters that Transformers counts for them, go to
``tests/data/families/<family>.json``: one at least for each model type, and enough for every flag.
"""
