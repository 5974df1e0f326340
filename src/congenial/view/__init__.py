"""Runs and results as text, pictures and pages."""
