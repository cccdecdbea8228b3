"""scikit-learn: estimators and pipelines, which are always pickles."""

import difflib
import re

import numpy as np

from ..errors import invalid, listed, missing_input
from .estimators import EstimatorFramework, to_rows
from .features import MOST_CATEGORIES
from .pickles import load_pickle
from .tables import first_row, has_numbers, has_texts, is_table, to_column

# As numpy says it, in any version.
NO_NUMBER = re.compile(r"could not convert string to float: (?:np\.str_\()?'(.*)'")

UNKNOWN_CATEGORY = "Found unknown categories"
NO_MISSING = re.compile(r"contains? NaN|unknown categories \[nan\]|missing values")

# Columns that a message names.
MOST_PLACES = 10
# Characters of an error in which values are looked for, and such values of a column.
MOST_TOLD = 10_000
MOST_TRIED = 100
# Characters of a value that is compared with the categories.
MOST_COMPARED = 100


class Framework(EstimatorFramework):
    checks_columns = True
    may_take_texts = True
    methods_asked_for = {name: name for name in ("predict_log_proba", "decision_function")}

    def load(self):
        self.use(load_pickle(self.request.path, self.request.options))
        self._takes_documents = takes_documents(self.model)

    def predict(self, inputs, wanted):
        """Pipelines may need all columns, or not; what they say of one that is missing, or of another type, is seldom its name."""
        try:
            return super().predict(inputs, wanted)
        except (KeyError, TypeError, ValueError) as error:
            count, names = self.features()
            if names is None or not is_table(inputs, count, names):
                raise
            missing = [name for name in names if name not in inputs]
            if missing:
                raise missing_input(missing[0], names) from error
            self._refuse_types(inputs, names, error)
            self._refuse_values(inputs, names, error)
            raise

    def _refuse_types(self, inputs, names, error):
        """Names the first column that is not of the type that clients were told. Where nothing is known of it, texts are wrong if the error has one of them."""
        kinds = self.kinds(names)
        text = NO_NUMBER.search(str(error))
        for name in names:
            known = kinds.get(name)
            expected = (known or {}).get("dtype", self.number_type)
            came = "bytes" if has_texts(inputs[name]) else "numbers" if has_numbers(inputs[name]) else None
            if came == "bytes" and not known and (text is None or text[1].encode() not in inputs[name].reshape(-1).tolist()):
                continue
            if came is not None and (came == "bytes") != (expected == "bytes"):
                said = f"are texts; the model takes {expected}" if came == "bytes" else "are numbers; the model takes texts"
                raise invalid(f'The values of "{name}" {said}.', reason="WRONG_DTYPE", field=name, expected=expected) from error

    def _refuse_values(self, inputs, names, error):
        """Names the row and the column of the first category that the error says no encoder knows, or of missing values where the model takes none everywhere."""
        said = str(error)
        has_unknown, lacks = UNKNOWN_CATEGORY in said, NO_MISSING.search(said)
        if not has_unknown and not lacks:
            return
        columns = {name: to_column(name, to_rows({name: inputs[name]})) for name in names}
        kinds = self.kinds(names) if has_unknown else {}
        told = said.partition(UNKNOWN_CATEGORY)[2].rpartition(" in column")[0][:MOST_TOLD]
        for name, values in columns.items():
            known = kinds.get(name, {}).get("categories", [])
            row = _row_told(values.tolist(), set(known), told) if 0 < len(known) < MOST_CATEGORIES else None
            if row is not None:
                meant = _nearest(values[row], known)
                row, value = first_row(values, np.arange(len(values)) == row)
                near = {"did_you_mean": meant} if meant else {}
                advice = f' Did you mean "{meant}"?' if meant else ""
                expected = listed(map(str, known))
                raise invalid(f'Row {row}, "{name}": the value is {value}; the model knows {expected}.{advice}', reason="WRONG_DTYPE", field=name, expected=expected, **near) from error
        missing = {name: values != values for name, values in columns.items()} if lacks else {}
        places = {name: f'"{name}" (row {first_row(columns[name], found)[0]})' for name, found in missing.items() if found.any()}
        if places:
            first, told = next(iter(places)), ", ".join(list(places.values())[:MOST_PLACES])
            expected = self.kinds(names).get(first, {}).get("dtype", self.number_type)
            raise invalid(f"The model does not take missing values in all of its columns; there are some in {told}.", reason="WRONG_DTYPE", field=first, expected=expected) from error

    def rows(self, inputs):
        """Texts of one column are a flat list to what counts their words: MLServer's clients send them so."""
        rows = super().rows(inputs)
        is_column = getattr(rows, "dtype", None) == object and rows.ndim == 2 and rows.shape[1] == 1
        return rows.reshape(-1) if is_column and self._takes_documents else rows


def _row_told(values, known, told):
    """The index of the first value that is not known and stands among those of an error; None if there is none among the first that are not known."""
    tried = set()
    for row, value in enumerate(values):
        if value in known:
            continue
        # Each missing value is one of its own.
        key = "nan" if value != value else repr(value)
        if key in tried:
            continue
        if len(key) <= len(told) and re.search(rf"(?<![\w.+-]){re.escape(key)}(?![\w.])", told):
            return row
        tried.add(key)
        if len(tried) == MOST_TRIED:
            break
    return None


def _nearest(value, known):
    """The category, a text, that is nearest to a text; None if none is near, or the text is long."""
    texts = [each for each in known if isinstance(each, str)]
    is_short = isinstance(value, str) and len(value) <= MOST_COMPARED
    return next(iter(difflib.get_close_matches(value, texts, 1)), None) if is_short else None


def takes_documents(estimator):
    """Whether the first step of an estimator is one of `sklearn.feature_extraction.text`, which take a list of texts."""
    if hasattr(estimator, "build_analyzer"):
        return True
    for name in ("best_estimator_", "estimator_", "estimator", "base_estimator"):
        if hasattr(estimator, name):
            return takes_documents(getattr(estimator, name))
    parts = getattr(estimator, "steps", None) or getattr(estimator, "transformer_list", None) or []
    first = [part for _, part in parts if part is not None and not isinstance(part, str)][:1]
    return bool(first) and takes_documents(first[0])
