"""Prints files of images with the pixels that OpenCV reads from them, one JSON object a line; bytes are base64, colours red first.

    python3 opencv-images.py SEED
"""

import base64
import json
import struct
import sys

import cv2
import numpy as np

random = np.random.default_rng(int(sys.argv[1]))


def text(data):
    return base64.b64encode(data if isinstance(data, bytes) else np.ascontiguousarray(data).tobytes()).decode()


def show(name, file):
    image = cv2.imdecode(np.frombuffer(file, np.uint8), cv2.IMREAD_UNCHANGED)
    if image is None:
        raise SystemExit(f"OpenCV does not read {name}")
    channels = 1 if image.ndim == 2 else image.shape[2]
    if channels > 1:
        image = image[..., [2, 1, 0, 3][:channels]]
    shape = [*image.shape[:2], channels]
    print(json.dumps({"name": name, "file": text(file), "dtype": image.dtype.name, "shape": shape, "pixels": text(image)}))


def bmp(size, bits, rows, palette=b"", compression=0, masks=b"", header=40):
    behind = masks if header == 40 else b""
    at = 14 + header + len(behind) + len(palette)
    head = struct.pack("<IiiHHIIiiII", header, *size, 1, bits, compression, 0, 0, 0, len(palette) // 4, 0)
    return b"BM" + struct.pack("<IHHI", 0, 0, 0, at) + head + (behind or masks.ljust(header - 40, b"\0")) + palette + rows


def rows(width, height, bits, below=256):
    """Rows of random bytes, whose length is a multiple of 4."""
    return random.integers(0, below, (height, (width * bits + 31) // 32 * 4)).astype(np.uint8).tobytes()


for bits, colours in ((1, 2), (4, 16), (8, 256), (8, 7)):
    palette = np.zeros((colours, 4), np.uint8)
    palette[:, :3] = random.integers(0, 256, (colours, 3))
    below = colours if bits == 8 else 256
    show(f"a BMP of {colours} colours in {bits} bits", bmp((13, 5), bits, rows(13, 5, bits, below), palette.tobytes()))
    palette[:, :3] = np.arange(colours)[:, None] * 255 // (colours - 1)
    if colours == 2**bits:
        show(f"a BMP of {colours} greys", bmp((13, 5), bits, rows(13, 5, bits), palette.tobytes()))
RGB565, RGB555 = struct.pack("<III", 0xF800, 0x7E0, 0x1F), struct.pack("<III", 0x7C00, 0x3E0, 0x1F)
BGRA = struct.pack("<IIII", 0xFF0000, 0xFF00, 0xFF, 0xFF000000)
RGBA = struct.pack("<IIII", 0xFF, 0xFF00, 0xFF0000, 0xFF000000)
show("a BMP of 24 bits", bmp((5, 4), 24, rows(5, 4, 24)))
show("a BMP whose first row is the highest", bmp((5, -4), 24, rows(5, 4, 24)))
show("a BMP of 32 bits", bmp((5, 4), 32, rows(5, 4, 32)))
show("a BMP of 16 bits", bmp((5, 4), 16, rows(5, 4, 16)))
show("a BMP of 16 bits, six of them green", bmp((5, 4), 16, rows(5, 4, 16), compression=3, masks=RGB565))
show("a BMP of 16 bits, five of each", bmp((5, 4), 16, rows(5, 4, 16), compression=3, masks=RGB555))
show("a BMP with masks behind its header", bmp((5, 4), 32, rows(5, 4, 32), compression=3, masks=BGRA[:12]))
show("a BMP with alpha", bmp((5, 4), 32, rows(5, 4, 32), compression=3, masks=BGRA, header=56))
show("a BMP of version 4", bmp((5, 4), 32, rows(5, 4, 32), compression=3, masks=RGBA, header=108))
show("a BMP without a mask for alpha", bmp((5, 4), 32, rows(5, 4, 32), compression=3, masks=RGBA[:12], header=56))

digits = " ".join(str(each) for each in random.integers(0, 256, 12)).encode()
show("a PGM of digits", b"P2\n# made by hand\n4 3 # wide\n255\n" + digits + b"\n")
show("a PGM of digits up to 15", b"P2 4 3 15\n0 1 2 3 4 5 6 7 8 9 15 99\n")
show("a PPM of digits", b"P3\n2 2\n255\n" + digits + b"\n")
show("a PBM of digits", b"P1\n4 2\n1 0 1 0\n0 1 0 1\n")
show("a PBM of digits without spaces", b"P1\n4 2\n1010\n0101\n")
show("a PGM up to 15", b"P5\n3 1\n15\n" + bytes([0, 7, 15]))
show("a PGM up to 1000", b"P5\n2 1\n1000\n" + struct.pack(">HH", 500, 1000))
show("a PPM up to 1000", b"P6\n1 2\n1000\n" + struct.pack(">HHHHHH", 500, 1000, 1, 2, 3, 4))

for ending in (".bmp", ".pgm", ".ppm", ".pbm", ".tiff", ".png"):
    for dtype in (np.uint8, np.uint16):
        for channels in (1, 3, 4):
            image = random.integers(0, np.iinfo(dtype).max + 1, (7, 11, channels)).astype(dtype)
            fits = {".bmp": dtype == np.uint8, ".pgm": channels == 1, ".ppm": channels == 3, ".pbm": (channels, dtype) == (1, np.uint8)}
            if fits.get(ending, True):
                show(f"{ending} of {np.dtype(dtype).name} x {channels}", cv2.imencode(ending, image)[1].tobytes())
