"""What hook files use of the original's helpers: parameters and images of a request, and calls to another server."""

import io

import numpy as np

TRUE = ("true", "1", "yes", "on")


def get_param(inputs, key, default=None, raw_bytes=False):
    """A request's parameter: the only element of an array, a text unless `raw_bytes`; `default` where it is absent."""
    value = inputs.get(key)
    if value is None:
        return default
    if isinstance(value, np.ndarray):
        value = value.item() if value.ndim == 0 else value.reshape(-1)[0] if value.size else default
    if isinstance(value, np.generic):
        value = value.item()
    return value.decode() if isinstance(value, bytes) and not raw_bytes else value


def boolean_string(value):
    """True for True, and for texts such as "true" and "1"."""
    return value if isinstance(value, bool) else str(value).strip().lower() in TRUE


def load_image(inputs, key, rgb=True):
    """An image of a request as an array [height, width, 3], and False; with pixels instead of an encoded image, those and True."""
    value = inputs.get(key)
    if value is None:
        raise RuntimeError(f'Missing "{key}" key in inputs. Provide an image in "{key}" key')
    array = np.asarray(value)
    if array.dtype.kind in "uif" and array.ndim >= 3:
        return array[0] if array.ndim == 4 else array, True
    data = get_param(inputs, key, raw_bytes=True)
    if isinstance(data, str):
        import base64

        data = base64.b64decode(data)
    return decode_image(data, rgb), False


def decode_image(data, rgb=True):
    """Pixels of an encoded image, by OpenCV or Pillow, whichever is installed."""
    try:
        import cv2
    except ModuleNotFoundError:
        from PIL import Image

        pixels = np.array(Image.open(io.BytesIO(data)).convert("RGB"))
        return pixels if rgb else pixels[:, :, ::-1].copy()
    pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    if pixels is None:
        raise RuntimeError("the input is not an image that OpenCV decodes")
    return pixels[:, :, ::-1].copy() if rgb else pixels


def predict_grpc(data, server, output_filter=None, **options):
    """Outputs of another server, `host:port`; within a request of this one."""
    from kserving_host.hooks.current import current_context

    if output_filter is not None:
        options["outputs"] = list(output_filter)
    return current_context().remote(server).predict(data, **options)
