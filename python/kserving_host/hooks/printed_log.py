"""What hooks log by the module `logging` becomes lines of the server's log: from INFO on, warnings as such."""

import logging
import sys


class PrintedLog(logging.Handler):
    """Standard output is logged as info, standard error as warn."""

    def emit(self, record):
        try:
            stream = sys.stderr if record.levelno >= logging.WARNING else sys.stdout
            stream.write(f"{self.format(record)}\n")
            stream.flush()
        except Exception:
            self.handleError(record)


def install():
    """As the original did before it imported hooks; what the file configures itself comes after it."""
    root = logging.getLogger()
    root.addHandler(PrintedLog())
    root.setLevel(logging.INFO)
