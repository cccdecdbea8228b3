"""Runs hook files in Python: the functions around models, whose models run in the server."""
