"""Architectures of GGUF files, one module for each mechanism.

A module's ``GGUF_ARCHS`` are the values of ``general.architecture`` that it knows; ``plan`` reads what their layers keep.
"""
