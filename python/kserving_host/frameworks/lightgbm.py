"""LightGBM: its own text format as a Booster, and pickles of Boosters and estimators."""

import lightgbm

from ..errors import one_line, refused
from .estimators import EstimatorFramework, plain
from .pickles import is_pickle, load_pickle


class Framework(EstimatorFramework):
    methods = {"result": "predict", "predict_proba": "predict_proba"}
    fills_columns = True

    def load(self):
        path = self.request.path
        model = load_pickle(path, self.request.options) if is_pickle(path) else _load_native(path)
        self._is_booster = isinstance(model, lightgbm.Booster)
        if not self._is_booster:
            return self.use(model)
        self.model, self.model_class = model, type(model)

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
