"""Runs models of Python's frameworks for kserving. Needs the standard library and numpy; a framework is imported with its first model."""
