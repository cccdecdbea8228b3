"""Prints images and what OpenCV makes of them, as OpenVINO Model Server does: imdecode, convertTo, resize.

    python3 opencv-images.py COUNT SEED

One JSON object a line: {"format", "image", "width", "height", "channels", "dtype", "isResized", "expected"}; bytes are base64.
"""

import base64
import json
import sys

import cv2
import numpy as np

count, seed = int(sys.argv[1]), int(sys.argv[2])
random = np.random.default_rng(seed)
FLAGS = {"jpeg": ".jpg", "png": ".png", "webp": ".webp"}


def make_image(height, width, channels, depth):
    """Smooth shapes with some noise, so that a JPEG of it is like one of a photo."""
    small = random.random((3 + random.integers(5), 3 + random.integers(5), channels)).astype(np.float32)
    smooth = cv2.resize(small, (width, height), interpolation=cv2.INTER_CUBIC).reshape(height, width, channels)
    noisy = smooth + random.normal(0, 0.01, smooth.shape)
    largest = 255 if depth == 8 else 65535
    return np.clip(noisy * largest, 0, largest).astype(np.uint8 if depth == 8 else np.uint16)


def convert(image, dtype):
    """cv::Mat::convertTo: rounds and saturates."""
    if np.issubdtype(np.dtype(dtype), np.floating):
        return image.astype(np.float32 if dtype == "float16" else dtype)
    info = np.iinfo(dtype)
    return np.clip(image.astype(np.int64), info.min, info.max).astype(dtype)


def resize(image, width, height):
    """cv::resize has no form for int8 and int32; they are resized as float and rounded."""
    if image.dtype in (np.int8, np.int32):
        return np.rint(cv2.resize(image.astype(np.float32), (width, height))).astype(image.dtype)
    return cv2.resize(image, (width, height))


for _ in range(count):
    kind = random.choice(["jpeg", "jpeg", "png", "png", "webp"])
    depth = int(random.choice([8, 16])) if kind == "png" else 8
    channels = int(random.choice([1, 3, 4] if kind == "png" else [1, 3] if kind == "jpeg" else [3, 4]))
    height, width = (int(x) for x in random.integers(1, 160, 2))
    to_width, to_height = (int(x) for x in random.integers(1, 160, 2))
    if random.random() < 0.2:
        to_width, to_height = width, height
    dtypes = ["float32", "float64", "uint8", "int8", "uint16", "int16", "int32"]
    # Half precision ends at 65504.
    dtype = str(random.choice(dtypes if depth == 16 else [*dtypes, "float16"]))
    quality = {"jpeg": [cv2.IMWRITE_JPEG_QUALITY, 95], "webp": [cv2.IMWRITE_WEBP_QUALITY, 101], "png": []}[kind]
    _, encoded = cv2.imencode(FLAGS[kind], make_image(height, width, channels, depth), quality)
    image = cv2.imdecode(encoded, cv2.IMREAD_UNCHANGED)
    result = resize(convert(image, dtype), to_width, to_height).reshape(to_height, to_width, -1)
    print(
        json.dumps(
            {
                "format": f"{kind} {depth} bit {channels} channels",
                "image": base64.b64encode(encoded.tobytes()).decode(),
                "width": to_width,
                "height": to_height,
                "channels": result.shape[2],
                "dtype": dtype,
                "isResized": (to_width, to_height) != (width, height),
                "expected": base64.b64encode(result.astype(np.float64).tobytes()).decode(),
            }
        )
    )
