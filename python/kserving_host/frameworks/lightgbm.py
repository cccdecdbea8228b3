"""LightGBM: its own text format as a Booster, and pickles of Boosters and estimators."""

import lightgbm

from ..errors import one_line, refused
from .estimators import EstimatorFramework, plain
from .features import of_categories
from .pickles import is_pickle, load_pickle
from .tables import as_categories


class Framework(EstimatorFramework):
    methods = {"result": "predict", "predict_proba": "predict_proba"}
    fills_columns = True
    # Names of the columns that are categories, once they are needed.
    _categorical_names = None
    has_categories = True

    def load(self):
        path = self.request.path
        model = load_pickle(path, self.request.options) if is_pickle(path) else _load_native(path)
        self._is_booster = isinstance(model, lightgbm.Booster)
        if not self._is_booster:
            return self.use(model)
        self.model, self.model_class = model, type(model)

    def rows(self, inputs):
        """LightGBM takes texts as categories alone: those of a data frame, in the columns that had them in training."""
        rows = super().rows(inputs)
        categories = getattr(self._booster(), "pandas_categorical", None)
        if not categories or not hasattr(rows, "columns"):
            return rows
        names = self._categorical(len(categories)) or [name for name in rows.columns if rows[name].dtype == object]
        return as_categories(rows, names)

    def _booster(self):
        return self.model if self._is_booster else getattr(self.model, "_Booster", None)

    def kinds(self, features):
        categories = getattr(self._booster(), "pandas_categorical", None)
        if not categories:
            return {}
        return {name: of_categories(values) for name, values in zip(self._categorical(len(categories)), categories) if name in features}

    def _categorical(self, count):
        if self._categorical_names is None:
            self._categorical_names = self._names_of_categories(count)
        return self._categorical_names

    def _names_of_categories(self, count):
        """By the model's own text, which has ranges of numbers for the other columns; empty where that does not tell."""
        head = self._booster().model_to_string(num_iteration=1).split("\n\n", 1)[0]
        infos = next((line for line in head.split("\n") if line.startswith("feature_infos=")), "=").partition("=")[2].split(" ")
        names = [name for name, info in zip(self._booster().feature_name(), infos) if info != "none" and not info.startswith("[")]
        return names if len(names) == count else []

    def predict(self, inputs, wanted):
        if not self._is_booster:
            return super().predict(inputs, wanted)
        return {"result": plain(self.model.predict(self.rows(inputs), num_threads=self.request.threads))}

    def features(self):
        if not self._is_booster:
            return super().features()
        count, names = self.model.num_feature(), self.model.feature_name()
        # Without names they are numbered.
        return count, None if names == [f"Column_{index}" for index in range(count)] else names

    def is_callers_fault(self, error):
        return isinstance(error, (ValueError, TypeError)) or "number of features" in str(error)


def _load_native(path):
    try:
        return lightgbm.Booster(model_file=path)
    except Exception as error:
        raise refused(f"lightgbm {lightgbm.__version__} cannot load the model: {one_line(error)}", error) from error
