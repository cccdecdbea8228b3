"""Pickles and joblib files, which run whatever code is in them while they load."""

import sys

from ..errors import one_line, refused

ENDINGS = (".pkl", ".pickle", ".joblib")
# No pickle of any protocol begins with these: text; and ONNX, zip archives, HDF5.
TEXT_STARTS = (b"{", b"[", b"<", b"#")
OTHER_STARTS = (b"\x08", b"P", b"\x89")


def is_pickle(path):
    """By the name, or by how pickles begin."""
    if path.endswith(ENDINGS):
        return True
    with open(path, "rb") as file:
        head = file.read(2)
    return head[:1] == b"\x80" and head[1:] in (b"\x02", b"\x03", b"\x04", b"\x05")


def load_pickle(path, options):
    """The object in the file; refused unless the user says that the file is to be trusted."""
    with open(path, "rb") as file:
        start = file.read(1)
    if start in TEXT_STARTS + OTHER_STARTS:
        what = "text, such as JSON, and" if start in TEXT_STARTS else "a model of another kind, or an archive, and"
        raise refused(f"The file is {what} no pickle; expected what joblib.dump or pickle.dump wrote.")
    if not options.get("allow_pickle"):
        raise refused("The file is a pickle, and loading it runs whatever code is in it. For a file that you trust: -o allow_pickle=true.")
    try:
        return _load(path)
    except ModuleNotFoundError as error:
        raise refused(other_version(error) or f'The pickle needs the module "{error.name}", which this Python does not have.', error) from error
    except Exception as error:
        raise refused(_old_booster(error) or f"The pickle cannot be loaded: {one_line(error)}. Expected what joblib.dump or pickle.dump wrote.", error) from error


def other_version(error):
    """The reason of a ModuleNotFoundError for a part of a package that is there; None for other modules."""
    package = (error.name or "").partition(".")[0]
    found = sys.modules.get(package)
    if found is None or package == error.name:
        return None
    version = getattr(found, "__version__", "that is here")
    return f'The pickle needs the module "{error.name}", which {package} {version} does not have: another version of {package} wrote it. Install that one, or save the model again with this one.'


def _old_booster(error):
    """The reason where a Booster in a pickle is in XGBoost's binary format, as XGBoost before 1.0 wrote it; None for other errors."""
    if type(error).__name__ != "XGBoostError" or "== '{'" not in str(error):
        return None
    version = getattr(sys.modules.get("xgboost"), "__version__", "that is here")
    return f"The pickle has a Booster in XGBoost's older binary format, which xgboost {version} does not read. Load it with XGBoost 3.0 or before, best with the one that wrote it, and save the model again: booster.save_model('model.ubj')."


def _load(path):
    try:
        import joblib
    except ModuleNotFoundError:
        import pickle

        with open(path, "rb") as file:
            return pickle.load(file)
    return joblib.load(path)
