"""Results of Python TensorFlow with the models of the tests: their form in cases.json, their writer and their check.

[{"signature", "inputs": {name: {"dtype", "shape", "data"}}, "outputs": {...}, "tolerance"?}], where data is a flat list of
numbers, booleans, "NaN", "Infinity", "-Infinity", decimal strings (64-bit integers), base64 (bytes) or [re, im] pairs.
"""

import argparse
import base64
import json
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np

# As the tests have it: allowed difference of a number, relative to the greater of 1 and its own size.
TOLERANCE = 1e-5


def number(value):
    if isinstance(value, complex):
        return [number(value.real), number(value.imag)]
    if isinstance(value, float) and not np.isfinite(value):
        return "NaN" if np.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def elements(array):
    if array.dtype.kind in "OSU":
        return [base64.b64encode(x if isinstance(x, bytes) else x.encode()).decode() for x in array.reshape(-1).tolist()]
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        return [str(x) for x in array.reshape(-1).tolist()]
    wide = array.astype(np.float32) if array.dtype.name == "bfloat16" else array
    return [number(x) for x in wide.reshape(-1).tolist()]


def tensor(value):
    array = np.asarray(value)
    return {
        "dtype": "bytes" if array.dtype.kind in "OSU" else array.dtype.name,
        "shape": list(array.shape),
        "data": elements(array),
    }


def case(signature, inputs, outputs, **rest):
    return {
        "signature": signature,
        "inputs": {name: tensor(value) for name, value in inputs.items()},
        "outputs": {name: tensor(value) for name, value in outputs.items()},
        **rest,
    }


def run_makers(root, makers):
    """The command line `[--check] [NAME ...]`: writes the models into root, or makes them elsewhere and compares their cases.

    makers: {name: what saves the model into a folder and returns its cases, None for a model that Python cannot run}
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true", help="compare with the committed values, and write nothing")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    names = options.names or list(makers)
    if unknown := [name for name in names if name not in makers]:
        parser.error(f"no model is called {', '.join(unknown)}")
    if options.check:
        check(root, makers, names)
        return
    for name in names:
        make(root / name, makers[name])


def make(folder, maker):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    cases = maker(folder)
    if cases is not None:
        (folder / "cases.json").write_text(json.dumps(cases, allow_nan=False) + "\n")
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    print(f"{folder.name}: {len(cases or [])} cases, {size / 1024:.0f} KB", flush=True)


def check(root, makers, names):
    """Ends the program with 1, after naming every model whose committed values Python does not give any more."""
    differing = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            make(Path(scratch) / name, makers[name])
            problems = differences(root / name / "cases.json", Path(scratch) / name / "cases.json")
            differing += bool(problems)
            for problem in problems:
                print(f"{name}: {problem}", file=sys.stderr)
    print(f"{len(names) - differing} of {len(names)} models have the committed values")
    sys.exit(1 if differing else 0)


def differences(committed, made):
    """Errors of the committed cases, at most one for each tensor."""
    if committed.exists() != made.exists():
        return [f"cases.json is {'not made any more' if committed.exists() else 'not committed'}"]
    if not made.exists():
        return []
    old, new = json.loads(committed.read_text()), json.loads(made.read_text())
    if len(old) != len(new):
        return [f"{len(old)} cases are committed, {len(new)} are made"]
    return [text for index, pair in enumerate(zip(old, new)) for text in case_differences(index, *pair)]


def case_differences(index, old, new):
    settings = [{key: one[key] for key in one if key not in ("inputs", "outputs")} for one in (old, new)]
    if settings[0] != settings[1]:
        return [f"case {index}: committed with {settings[0]}, made with {settings[1]}"]
    limit = old.get("tolerance", TOLERANCE)
    return [
        f"case {index}, {kind[:-1]} {name}: {problem}"
        for kind, tolerance in (("inputs", 0), ("outputs", limit))
        for name in sorted(old[kind].keys() | new[kind].keys())
        if (problem := tensor_difference(old[kind].get(name), new[kind].get(name), tolerance))
    ]


def tensor_difference(old, new, tolerance):
    if old is None or new is None:
        return "not committed" if old is None else "not made any more"
    for key in ("dtype", "shape"):
        if old[key] != new[key]:
            return f"{key} is {old[key]}, Python gives {new[key]}"
    for place, (a, b) in enumerate(zip(old["data"], new["data"], strict=True)):
        if not near(a, b, tolerance):
            return f"element {place} is {a}, Python gives {b}"
    return None


def near(a, b, tolerance):
    if isinstance(a, list):
        return all(near(*parts, tolerance) for parts in zip(a, b))
    if isinstance(a, (str, bool)) or isinstance(b, (str, bool)):
        return a == b
    return abs(a - b) <= tolerance * max(1, abs(b))
