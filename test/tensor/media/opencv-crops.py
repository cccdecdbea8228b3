"""Prints images, crops and letterboxes as OpenCV makes them, one JSON object a line; bytes are base64.

    python3 opencv-crops.py COUNT SEED
"""

import base64
import json
import sys

import cv2
import numpy as np

count, seed = int(sys.argv[1]), int(sys.argv[2])
random = np.random.default_rng(seed)


def text(array):
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def smooth(height, width, channels):
    small = random.random((6, 6, channels)).astype(np.float32)
    large = cv2.resize(small, (width, height), interpolation=cv2.INTER_CUBIC).reshape(height, width, channels)
    return np.clip(large * 255, 0, 255).astype(np.uint8)


for _ in range(count):
    height, width = (int(each) for each in random.integers(40, 120, 2))
    channels = int(random.choice([1, 3, 4]))
    image = smooth(height, width, channels)

    corners = np.array([[0.2, 0.2], [0.8, 0.2], [0.8, 0.8], [0.2, 0.8]]) + random.uniform(-0.18, 0.18, (4, 2))
    corners = (corners * [width, height]).astype(np.float32)
    out = [int(each) for each in random.integers(8, 90, 2)]
    upright = np.array([[0, 0], [out[0], 0], [out[0], out[1]], [0, out[1]]], np.float32)
    matrix = cv2.getPerspectiveTransform(corners, upright)
    crop = cv2.warpPerspective(image, matrix, out, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)

    points = random.integers(0, 100, (int(random.integers(3, 40)), 2)).astype(np.float32)
    rectangle = cv2.minAreaRect(points)
    print(
        json.dumps(
            {
                "shape": [height, width, channels],
                "image": text(image),
                "corners": corners.tolist(),
                "size": out,
                "crop": text(crop),
                "points": points.tolist(),
                "center": list(rectangle[0]),
                "area": rectangle[1][0] * rectangle[1][1],
            }
        )
    )
