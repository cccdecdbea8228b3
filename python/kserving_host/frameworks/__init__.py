"""One module for each framework."""
