"""Adversaries and measured guarantees."""
