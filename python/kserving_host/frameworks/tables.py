"""Tables: several inputs, each the column of its name, as clients send them that have records and not rows."""

import numpy as np

from ..errors import HostError, invalid, refused

# As the server sends a text that is missing: a byte that is in no UTF-8.
MISSING_TEXT = b"\xff"

# Of a value in a message.
MOST_CHARACTERS = 80


def is_table(inputs, count, names):
    """Whether the inputs are columns of a model with so many features of these names (None = not known), and not one array of rows."""
    if not inputs:
        return False
    if len(inputs) > 1:
        # Features that are numbered have no names to go by.
        return names is not None or count is None
    name, array = next(iter(inputs.items()))
    return names is not None and name in names and getattr(array, "ndim", 2) <= 1


def is_misnamed(inputs):
    """Whether the only input is a column, of a name that is not the server's own for rows without names."""
    name, array = next(iter(inputs.items()))
    return len(inputs) == 1 and name not in ("input", "inputs") and getattr(array, "ndim", 2) <= 1


def to_column(name, values):
    """The flat array of an input with one value for each row, of shape [n] or [n, 1]; one value alone is that of one row."""
    if values.ndim <= 1 or (values.ndim == 2 and values.shape[1] == 1):
        return values.reshape(-1)
    raise invalid(f'Input "{name}" is a column, with one value for each row; its shape is {list(values.shape)}.', reason="WRONG_SHAPE", field=name, expected="[-1]")


def not_rows(what, count, values):
    """The error of an input that has no rows of so many values."""
    return invalid(f"The model takes {what}; the input's shape is {list(values.shape)}.", reason="WRONG_SHAPE", expected=f"[-1,{count}]")


def to_texts(array):
    """str for the bytes of texts; NaN, as pandas reads it, for one that is missing."""
    return np.array([np.nan if each == MISSING_TEXT else each.decode() for each in array.reshape(-1)], object).reshape(array.shape)


def has_texts(array):
    """Whether an input has any text that is not missing."""
    return getattr(array, "dtype", None) == object and any(each != MISSING_TEXT for each in array.reshape(-1))


def has_numbers(array):
    """Whether an input has any number that is not missing."""
    kind = getattr(getattr(array, "dtype", None), "kind", "")
    return kind in "iu" or (kind == "f" and bool(np.isfinite(array).any()))


def is_numbered(inputs):
    """Whether the inputs are columns by their numbers, as the server sends rows of texts and numbers whose features have no names."""
    return len(inputs) > 1 and list(inputs) == [str(index) for index in range(len(inputs))]


def to_object_rows(columns):
    """Rows of values that keep their types, of columns of one length, by name."""
    check_lengths(columns)
    rows = np.empty((len(next(iter(columns.values()))), len(columns)), object)
    for index, column in enumerate(columns.values()):
        rows[:, index] = column
    return rows


def to_table_of_rows(rows, names):
    """A data frame of an array."""
    return _pandas().DataFrame(rows, columns=names)


def as_categories(table, names):
    """The table with these columns as categories, of which a column without values has one too that no row is in: XGBoost asks for some."""
    empty = [name for name in names if table[name].isna().all()]
    filled = table.copy(deep=False)
    for name in empty:
        filled[name] = _pandas().Categorical(table[name], categories=[""])
    return filled.astype({name: "category" for name in names if name not in empty})


def with_missing_texts(table):
    """The table with its columns that have no values at all as texts that are missing: a request does not say which they would be. None where there are none."""
    if not hasattr(table, "columns"):
        return None
    names = [name for name in table.columns if table[name].dtype.kind == "f" and table[name].isna().all()]
    return table.astype({name: object for name in names}) if names else None


def first_row(values, found):
    """The number of the first row where an array of truth has one, and the value there as people write it."""
    index = int(np.argmax(found))
    value = values[index]
    return index + 1, "missing" if value is None or value != value else repr(value.item() if isinstance(value, np.generic) else value)[:MOST_CHARACTERS]


def check_lengths(columns):
    """Refuses columns, by name, of which one has another number of rows than the first."""
    sizes = {name: len(column) for name, column in columns.items()}
    first = next(iter(sizes.values()), 0)
    others = [name for name, size in sizes.items() if size != first]
    if others:
        raise invalid(f"The inputs have different numbers of rows: {', '.join(map(str, sorted(set(sizes.values()))))}.", reason="WRONG_SHAPE", field=others[0], expected=f"[{first}]")


def has_pandas():
    """Imports it where it is."""
    try:
        return _pandas() is not None
    except HostError:
        return False


def _pandas():
    try:
        import pandas
    except ModuleNotFoundError as error:
        raise refused("Inputs by the names of features need pandas, which this Python does not have: pip install pandas.", error) from error
    return pandas


def to_table(columns, names, fills):
    """A data frame of flat arrays by name: those of `names` come first, in that order. With `fills` those that are not there have no values."""
    check_lengths(columns)
    first = [name for name in names or [] if fills or name in columns]
    return _pandas().DataFrame(columns).reindex(columns=[*first, *(name for name in columns if name not in set(first))])
