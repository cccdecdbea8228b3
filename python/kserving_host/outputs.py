"""Names for what a model returns.

One value alone is `output`. Members of a dict have their key, of a dataclass or a named tuple their field, of a list or a tuple `output_0`, `output_1` …;
what lies deeper has the name of what it lies in before its own: `boxes.0`, `head.scores`. None is left out. `-o outputs` names them all in this order.
"""

import dataclasses

from .errors import HostError


def name_outputs(value, is_leaf, names=None):
    """A dict of the leaves by name."""
    if value is None:
        raise HostError("internal", "The model returned None; expected tensors.")
    leaves = {"output": value} if is_leaf(value) else _distinct(_walk(value, "", is_leaf))
    if names is None:
        return leaves
    if len(names) != len(leaves):
        raise HostError("internal", f"The model returned {len(leaves)} outputs ({', '.join(leaves)}); the option outputs names {len(names)}.")
    return dict(zip(names, leaves.values()))


def name_members(name, value, is_leaf):
    """Pairs of names and leaves, whose names begin with the one that the value has."""
    return _distinct(_walk(value, name, is_leaf)).items()


def _distinct(leaves):
    """As a dict; refuses two of one name, such as of the keys 1 and "1"."""
    named = {}
    for name, leaf in leaves:
        if name in named:
            raise HostError("internal", f'The model returned two outputs of the name "{name}"; expected names that differ as texts.')
        named[name] = leaf
    return named


def _walk(value, name, is_leaf):
    if value is None:
        return
    if is_leaf(value):
        yield name or "output", value
        return
    for key, member in _members(value, name):
        yield from _walk(member, f"{name}.{key}" if name else str(key), is_leaf)


def _members(value, name):
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
    if hasattr(value, "items"):
        return value.items()
    if hasattr(value, "_fields"):
        return zip(value._fields, value)
    if isinstance(value, (list, tuple)):
        return [(index if name else f"output_{index}", member) for index, member in enumerate(value)]
    where = f' for "{name}"' if name else ""
    expected = "tensors, numbers, or dicts, lists, tuples and dataclasses of them"
    raise HostError("internal", f"The model returned a {type(value).__name__}{where}; expected {expected}.")
