"""The names that hook files import from the original program, for hooks that this server runs."""
