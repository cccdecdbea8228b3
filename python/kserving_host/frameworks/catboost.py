"""CatBoost: its own formats (.cbm, .json), and pickles of its estimators."""

import re

import catboost
import numpy as np

from ..errors import one_line, refused
from .estimators import EstimatorFramework, plain
from .pickles import is_pickle, load_pickle
from .tables import not_rows

# Where in CatBoost's own source an error was raised.
SOURCE_PLACE = re.compile(r"^catboost/\S+\.\w+:\d+: ")

MISSING_CATEGORY = "nan"


class Framework(EstimatorFramework):
    number_type = "float32"
    methods = {"result": "predict", "predict_proba": "predict_proba"}

    def load(self):
        path = self.request.path
        self.use(load_pickle(path, self.request.options) if is_pickle(path) else _load_native(path))

    def predict(self, inputs, wanted):
        rows = self.rows(inputs)
        count = len(self.model.feature_names_)
        # CatBoost passes over columns that the model does not know.
        if rows.ndim != 2 or rows.shape[1] != count:
            raise not_rows(f"rows of {count} features", count, rows)
        rows = self._with_missing_texts(rows)
        names = [name for name in self._methods if wanted is None or name in wanted]
        return {name: self._run(self.methods[name], rows) for name in names}

    def features(self):
        names = list(self.model.feature_names_)
        # Without names they are numbered.
        return len(names), None if names == [str(index) for index in range(len(names))] else names

    def suggested_type(self):
        return "bytes" if self._places_of_texts() else self.number_type

    def kinds(self, features):
        return {features[index]: {"dtype": "bytes"} for index in self._places_of_texts() if index < len(features)}

    def is_callers_fault(self, error):
        return isinstance(error, (ValueError, TypeError, catboost.CatBoostError))

    def message_of(self, error):
        return SOURCE_PLACE.sub("", super().message_of(error))

    def _run(self, method, rows):
        result = plain(getattr(self.model, method)(rows, thread_count=self.request.threads))
        # Classes of more than two come as a column.
        return result.reshape(-1) if method == "predict" and result.ndim == 2 and result.shape[1] == 1 else result

    def _with_missing_texts(self, rows):
        """Missing numbers are NaN to CatBoost; a category has to be a text, and pandas writes a missing one as "nan". A text of words has none."""
        words = set(self.model.get_text_feature_indices())
        fills = {index: "" if index in words else MISSING_CATEGORY for index in self._places_of_texts()}
        if not fills:
            return rows
        if hasattr(rows, "columns"):
            places = {rows.columns[index]: fill for index, fill in fills.items()}
            filled = rows.copy(deep=False)
            for name, fill in places.items():
                filled[name] = rows[name].astype(object).where(rows[name].notna(), fill)
            return filled
        filled = rows.astype(object)
        for index, fill in fills.items():
            column = filled[:, index]
            column[[each != each for each in column]] = fill
        return filled

    def _places_of_texts(self):
        return [*self.model.get_cat_feature_indices(), *self.model.get_text_feature_indices()]


def _load_native(path):
    options = {"format": "json"} if path.endswith(".json") else {}
    try:
        model = catboost.CatBoost().load_model(path, **options)
        # Only a classifier's model has classes.
        return model if len(model.classes_) == 0 else catboost.CatBoostClassifier().load_model(path, **options)
    except Exception as error:
        text = SOURCE_PLACE.sub("", one_line(error))
        raise refused(f"catboost {catboost.__version__} cannot load the model: {text}", error) from error
