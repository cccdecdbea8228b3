"""Program that the server starts: `python .../python FRAMES_FD SLOT_FD...`. The folder of this file is first on the import path."""

import os
import sys

# An empty frame, for no request: imports may take long, and the server is to know that this process has begun.
os.write(int(sys.argv[1]), bytes(4) + b"\xff\xff\xff\x7f" + bytes(24))

# The installed package stays as it was installed; what the user imports is cached as usual.
sys.dont_write_bytecode = True

from kserving_host.host import serve

serve(int(sys.argv[1]), [int(text) for text in sys.argv[2:]])
