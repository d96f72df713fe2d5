"""The measuring process: ``python -m kvplan.verifier.child`` reads a Job on stdin and answers with one Record.

A process of its own, because peaks, the CUDA context and a torch that dies for want of memory belong to one process.
It needs torch and transformers, pynvml if it is there, and nothing else.
"""
