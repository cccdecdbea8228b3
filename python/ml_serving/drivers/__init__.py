"""See `driver`."""
