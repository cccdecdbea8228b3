r"""Reads the text on a photo, step by step as ocr.ts does: the first model finds the lines, OpenCV cuts each out upright, the second model reads it.

    pip install numpy opencv-python-headless
    pip install --no-deps --target .cache/ocr-models rapidocr-onnxruntime==1.4.4
    kserving --driver onnx --model-path .cache/ocr-models/rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx \
             --driver onnx --model-path .cache/ocr-models/rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx \
             -o mean=127.5 -o scale=127.5 --hooks examples/hooks/ocr.py --http-enable
    curl http://localhost:9001/predict -F bytes_image=@examples/photos/page.png
"""

import math

import cv2
import numpy as np

# Below it the recogniser only guesses.
MIN_SCORE = 0.5
# The detector works on multiples of STEP pixels, and finds little text in smaller images than MIN_SIDE.
STEP, MIN_SIDE, MAX_SIDE = 32, 736, 3200
# Probability above which a pixel is text, and a box is a line.
PIXEL_SCORE, LINE_SCORE = 0.3, 0.5
# The detector finds the middle of lines; their boxes are this much larger, measured by area over perimeter.
GROWTH = 1.6
# Size that the recogniser was trained with, in pixels: shorter lines are padded with a grey that its mean makes 0.
HEIGHT, MIN_WIDTH, GREY = 48, 320, 127


def init_hook(ctx, **params):
    """The letters by class, from the model's own file: the first class is the blank, the last one a space."""
    characters = ctx.drivers[1].args["session"].metadata["character"]
    return ["", *characters.split("\n"), " "]


def process(inputs, ctx, **kwargs):
    detector, recognizer = ctx.drivers
    photo = cv2.imdecode(np.frombuffer(inputs["image"].reshape(-1)[0], np.uint8), cv2.IMREAD_COLOR)[:, :, ::-1]
    read = [(*read_line(recognizer, photo, line, ctx.global_ctx), line) for line in find_lines(detector, photo)]
    sure = [each for each in read if each[1] >= MIN_SCORE]
    return {
        "texts": np.array([text.encode() for text, _, _ in sure], object),
        "scores": np.array([score for _, score, _ in sure], np.float32),
        "boxes": np.array([line for _, _, line in sure], np.float32).reshape(-1, 4, 2),
    }


def find_lines(detector, photo):
    """Corners of the lines in the photo's pixels, clockwise from the left upper one, from above to below."""
    height, width = photo.shape[:2]
    scale = min(max(1, MIN_SIDE / min(width, height)), MAX_SIDE / max(width, height))
    size = [max(1, round(side * scale / STEP)) * STEP for side in (width, height)]
    outputs = detector.predict({"x": cv2.resize(photo, size, interpolation=cv2.INTER_LINEAR)})
    scores = next(iter(outputs.values()))[0, 0]
    factor = np.array([width / size[0], height / size[1]])
    boxes = [np.clip(np.round(box * factor), 0, [width, height]) for box in text_boxes(scores)]
    return in_reading_order(boxes)


def text_boxes(scores):
    # A pixel wider and higher, so that thin gaps close.
    mask = cv2.dilate((scores > PIXEL_SCORE).astype(np.uint8), np.ones((2, 2), np.uint8))
    contours, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    for contour in contours:
        center, (width, height), angle = cv2.minAreaRect(contour)
        if min(width, height) < 3 or mean_score(scores, cv2.boxPoints((center, (width, height), angle))) < LINE_SCORE:
            continue
        growth = 2 * GROWTH * width * height / (2 * (width + height))
        yield clockwise(cv2.boxPoints((center, (width + growth, height + growth), angle)))


def mean_score(scores, corners):
    mask = np.zeros(scores.shape, np.uint8)
    cv2.fillPoly(mask, [np.round(corners).astype(np.int32)], 1)
    return cv2.mean(scores, mask)[0]


def clockwise(corners):
    """From the left upper corner on."""
    by_x = sorted(corners.tolist())
    (top_left, bottom_left), (top_right, bottom_right) = (sorted(pair, key=lambda point: point[1]) for pair in (by_x[:2], by_x[2:]))
    return np.array([top_left, top_right, bottom_right, bottom_left])


def in_reading_order(lines):
    """Rows from above to below, and from left to right what lies in one row."""
    rows = []
    for line in sorted(lines, key=middle):
        if rows and middle(line) - middle(rows[-1][0]) < (rows[-1][0][2][1] - rows[-1][0][0][1]) / 2:
            rows[-1].append(line)
        else:
            rows.append([line])
    return [line for row in rows for line in sorted(row, key=lambda each: each[0][0])]


def middle(line):
    return (line[0][1] + line[2][1]) / 2


def read_line(recognizer, photo, line, letters):
    """Text of one line, and the mean of its letters' probabilities."""
    crop = crop_line(photo, line)
    padded = np.full((HEIGHT, max(MIN_WIDTH, crop.shape[1]), 3), GREY, np.uint8)
    padded[:, : crop.shape[1]] = crop
    outputs = recognizer.predict({"x": padded})
    scores = next(iter(outputs.values()))[0]
    classes = scores.argmax(axis=1)
    # Of equal neighbours one counts, and the blank does not.
    kept = (classes != 0) & (classes != np.concatenate([[-1], classes[:-1]]))
    return "".join(letters[each] for each in classes[kept]), float(scores.max(axis=1)[kept].mean()) if kept.any() else 0.0


def crop_line(photo, line):
    """Upright, in the recogniser's height; a line that is much higher than wide is read from below."""
    width, height = np.linalg.norm(line[0] - line[1]), np.linalg.norm(line[0] - line[3])
    if height >= 1.5 * width:
        line, width, height = np.roll(line, -1, axis=0), height, width
    size = (math.ceil(HEIGHT * width / height), HEIGHT)
    corners = np.array([[0, 0], [size[0], 0], size, [0, size[1]]], np.float32)
    transform = cv2.getPerspectiveTransform(line.astype(np.float32), corners)
    return cv2.warpPerspective(photo, transform, size, borderMode=cv2.BORDER_REPLICATE, flags=cv2.INTER_LINEAR)
