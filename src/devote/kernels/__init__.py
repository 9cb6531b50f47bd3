"""Arm selection and vote counting: ``math`` and indexing only."""
