"""Tables: several inputs, each the column of its name, as clients send them that have records and not rows."""

from ..errors import invalid, refused


def is_table(inputs, count, names):
    """Whether the inputs are columns of a model with so many features of these names (None = not known), and not one array of rows."""
    if len(inputs) > 1:
        # Features that are numbered have no names to go by.
        return names is not None or count is None
    name, array = next(iter(inputs.items()))
    return names is not None and name in names and getattr(array, "ndim", 2) == 1


def to_column(name, values):
    """The flat array of an input with one value for each row, of shape [n] or [n, 1]."""
    if values.ndim == 1 or (values.ndim == 2 and values.shape[1] == 1):
        return values.reshape(-1)
    raise invalid(f'Input "{name}" is a column, with one value for each row; its shape is {list(values.shape)}.')


def to_table(columns, names, fills):
    """A data frame of flat arrays by name: those of `names` come first, in that order. With `fills` those that are not there have no values."""
    sizes = {len(column) for column in columns.values()}
    if len(sizes) > 1:
        raise invalid(f"The inputs have different numbers of rows: {', '.join(map(str, sorted(sizes)))}.")
    try:
        import pandas
    except ModuleNotFoundError as error:
        raise refused("Inputs by the names of features need pandas, which this Python does not have: pip install pandas.", error) from error
    first = [name for name in names or [] if fills or name in columns]
    return pandas.DataFrame(columns).reindex(columns=[*first, *(name for name in columns if name not in set(first))])
