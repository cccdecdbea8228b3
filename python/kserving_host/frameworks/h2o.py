"""H2O's MOJO files, scored by the classes of h2o.jar in a Java machine of this process; no H2O server is started."""

import importlib.util
import os
import zipfile

import jpype
import numpy as np

from ..errors import one_line, refused
from .fields import FieldFramework

JAR = os.path.join(importlib.util.find_spec("h2o").submodule_search_locations[0], "backend", "bin", "h2o.jar")
CLASSES = {"predict": "label", "predict_proba": "classProbabilities"}
# By category of model: outputs, and the members of H2O's predictions that they have.
RESULTS = {
    "Binomial": CLASSES,
    "Multinomial": CLASSES,
    "Ordinal": CLASSES,
    "Regression": {"predict": "value"},
    "CoxPH": {"predict": "value"},
    "Clustering": {"predict": "cluster"},
    "AnomalyDetection": {"predict": "normalizedScore", "mean_length": "score"},
    "AutoEncoder": {"predict": "reconstructed"},
    "DimReduction": {"predict": "dimensions"},
}


class Framework(FieldFramework):
    """Outputs are those of the model's category."""

    def load(self):
        self.model = _load(self.request.path)
        self.model_class = type(self.model)
        if self.kind() not in RESULTS:
            raise refused(f"The MOJO is a {self.kind()} model; expected one of {', '.join(RESULTS)}.")
        domains = list(self.model.getDomainValues())
        names = map(str, list(self.model.getNames())[: self.model.nfeatures()])
        known = dict(zip(names, domains))
        self.fields = {name: "float64" if domain is None else "bytes" for name, domain in known.items()}
        self.categories = {name: list(map(str, domain)) for name, domain in known.items() if domain is not None}
        wrapper = jpype.JClass("hex.genmodel.easy.EasyPredictModelWrapper")
        self._scorer = wrapper(wrapper.Config().setModel(self.model).setConvertUnknownCategoricalLevelsToNa(True))
        self._new_row = jpype.JClass("hex.genmodel.easy.RowData")

    def predict(self, inputs, wanted):
        answers = [self._scorer.predict(self._row(values)) for values in self.rows(inputs)]
        return {name: np.array([_plain(getattr(each, member)) for each in answers]) for name, member in RESULTS[self.kind()].items()}

    def is_callers_fault(self, error):
        return isinstance(error, (ValueError, jpype.JClass("hex.genmodel.easy.exception.PredictException")))

    def message_of(self, error):
        # Without the class of Java, which comes first.
        return str(error.getMessage()) if isinstance(error, jpype.JException) else super().message_of(error)

    def kind(self):
        return str(self.model.getModelCategory())

    def _row(self, values):
        """A value that is left out is missing."""
        row = self._new_row()
        for (name, dtype), value in zip(self.fields.items(), values):
            if value not in ("", None):
                row.put(name, _text(value) if dtype == "bytes" or isinstance(value, str) else jpype.JDouble(value))
        return row


def _load(path):
    if os.path.isfile(path) and not zipfile.is_zipfile(path):
        raise refused("The file is no MOJO, which is a zip archive; expected what model.download_mojo wrote.")
    if os.path.isdir(path) and not os.path.isfile(os.path.join(path, "model.ini")):
        raise refused("The folder has no model.ini; expected a MOJO, as model.download_mojo wrote it (.zip), or what is in one.")
    try:
        # -Xrs leaves the process's signals alone.
        jpype.startJVM("-Xrs", classpath=[JAR], convertStrings=True)
        return jpype.JClass("hex.genmodel.MojoModel").load(path)
    except Exception as error:
        raise refused(f"H2O cannot load the MOJO: {one_line(error)}", error) from error


def _text(value):
    """A level of a category as H2O writes it: whole numbers have no point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _plain(value):
    if isinstance(value, jpype.JArray):
        return np.array(value, np.float64)
    return float(value) if isinstance(value, (float, jpype.JDouble)) else value
