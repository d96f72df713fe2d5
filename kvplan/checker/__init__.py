"""Deployment files in CI: which servers they start, whether each starts and holds its load."""
