"""scikit-learn: estimators and pipelines, which are always pickles."""

from .estimators import EstimatorFramework
from .pickles import load_pickle


class Framework(EstimatorFramework):
    def load(self):
        self.use(load_pickle(self.request.path, self.request.options))
