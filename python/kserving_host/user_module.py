"""Finds the user's class by `package.module:Name`."""

import difflib
import importlib
import inspect
import os
import sys

from .errors import HostError, last_lines, refused, traceback_text


def add_import_paths(paths, last=()):
    """Folders where `model_class` is looked for, before everything but the host itself; the last ones behind everything."""
    for path in reversed([os.path.abspath(each) for each in paths]):
        if path not in sys.path:
            sys.path.insert(1, path)
    sys.path += [path for path in map(os.path.abspath, last) if path not in sys.path]


def load_class(text):
    """The class, or whatever is called to make a model."""
    module_name, _, name = text.partition(":")
    if not name:
        # The last point stands for the colon, as people write it in other servers.
        module_name, _, name = text.rpartition(".")
    if not module_name:
        raise HostError("invalid_argument", f'model_class is "{text}"; expected package.module:Class.')
    module = _import(module_name)
    found = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if callable(found):
        return found
    raise refused(f'The module "{module_name}" has no class "{name}".{_near(name, module)}')


def create(model_class, arguments):
    """Calls the class with the user's arguments; a list is given by position, an object by name."""
    positional, named = (arguments, {}) if isinstance(arguments, list) else ([], arguments or {})
    try:
        return model_class(*positional, **named)
    except Exception as error:
        name = getattr(model_class, "__name__", str(model_class))
        hint = _parameters(model_class) if isinstance(error, TypeError) else ""
        raise refused(f"{name} could not be created: {last_lines(error)}.{hint}", error) from error


def _import(name):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name == error.name or name.startswith(error.name + ".")):
            raise refused(f'The module "{name}" needs "{error.name}", which this Python does not have: {sys.executable}', error) from error
        where = "the folders of the model and of the hooks, import_path and PYTHONPATH"
        raise refused(f'There is no module "{name}"; looked for it in {where}.', error) from error
    except Exception as error:
        raise HostError("failed_precondition", f'The module "{name}" could not be imported: {last_lines(error)}', traceback_text(error)) from error


def _near(name, module):
    classes = [key for key, value in vars(module).items() if inspect.isclass(value) and value.__module__ == module.__name__]
    near = difflib.get_close_matches(name, classes, 3, 0.5)
    if near:
        return " Did you mean " + " or ".join(f'"{each}"' for each in near) + "?"
    return f" It has {', '.join(classes[:10])}." if classes else ""


def _parameters(model_class):
    try:
        return f" It takes {inspect.signature(model_class)}; -o model_args gives them as JSON."
    except (TypeError, ValueError):
        return ""
