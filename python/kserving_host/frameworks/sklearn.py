"""scikit-learn: estimators and pipelines, which are always pickles."""

from .estimators import EstimatorFramework
from .pickles import load_pickle


class Framework(EstimatorFramework):
    checks_columns = True

    def load(self):
        self.use(load_pickle(self.request.path, self.request.options))
