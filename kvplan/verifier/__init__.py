"""Measures real runs and reconciles them with the estimate; the only code that runs torch, in a child process."""
