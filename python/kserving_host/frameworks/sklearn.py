"""scikit-learn: estimators and pipelines, which are always pickles."""

from ..errors import missing_input
from .estimators import EstimatorFramework
from .pickles import load_pickle
from .tables import is_table


class Framework(EstimatorFramework):
    checks_columns = True
    methods_asked_for = {name: name for name in ("predict_log_proba", "decision_function")}

    def load(self):
        self.use(load_pickle(self.request.path, self.request.options))
        self._takes_documents = takes_documents(self.model)

    def predict(self, inputs, wanted):
        """Pipelines may need all columns, or not; what they say of one that is missing is seldom its name."""
        try:
            return super().predict(inputs, wanted)
        except (KeyError, ValueError) as error:
            count, names = self.features()
            missing = [name for name in names or [] if name not in inputs] if is_table(inputs, count, names) else []
            if not missing:
                raise
            raise missing_input(missing[0], names) from error

    def rows(self, inputs):
        """Texts of one column are a flat list to what counts their words: MLServer's clients send them so."""
        rows = super().rows(inputs)
        is_column = getattr(rows, "dtype", None) == object and rows.ndim == 2 and rows.shape[1] == 1
        return rows.reshape(-1) if is_column and self._takes_documents else rows


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
