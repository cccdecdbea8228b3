"""XGBoost: its own formats as a Booster, and pickles of Boosters and estimators."""

import inspect
import json
import os
import re
import struct

import xgboost

from ..errors import one_line, refused
from .estimators import EstimatorFramework
from .features import of_categories
from .pickles import is_pickle, load_pickle
from .tables import as_categories, not_rows


# Characters of MLflow's description of a model, at most.
MOST_DESCRIPTION = 1 << 20


class Framework(EstimatorFramework):
    number_type = "float32"
    has_categories = True
    methods = {"result": "predict", "predict_proba": "predict_proba"}

    def load(self):
        path = self.request.path
        model = load_pickle(path, self.request.options) if is_pickle(path) else _load_native(path)
        self._is_booster = isinstance(model, xgboost.Booster)
        if not self._is_booster:
            return self.use(model)
        self.model, self.model_class = model, type(model)
        model.set_param({"nthread": self.request.threads})
        self._trees = _best_trees(model)
        self._count = _feature_count(model)

    def predict(self, inputs, wanted):
        if not self._is_booster:
            return super().predict(inputs, wanted)
        rows = self.rows(inputs)
        # XGBoost takes features that are not there for missing values, without a word.
        if rows.ndim != 2 or rows.shape[1] != self._count:
            raise not_rows(f"rows of {self._count} features", self._count, rows)
        return {"result": self.model.predict(self._matrix(rows), **self._trees)}

    def _matrix(self, rows):
        # XGBoost before 1.0 forgets names and types with the file.
        names, types = getattr(self.model, "feature_names", None), getattr(self.model, "feature_types", None)
        if not hasattr(rows, "columns") or types is None or "c" not in types:
            return xgboost.DMatrix(rows, feature_names=names)
        if not hasattr(self.model, "get_categories"):
            raise refused(f"The model has categories, whose names xgboost {xgboost.__version__} does not keep in it; they need xgboost 3.1 or later, for training too.")
        categorical = [name for name, kind in zip(names, types) if kind == "c"]
        return xgboost.DMatrix(as_categories(rows, categorical), enable_categorical=True)

    def features(self):
        return (self._count, getattr(self.model, "feature_names", None)) if self._is_booster else super().features()

    def kinds(self, features):
        booster = self.model if self._is_booster else getattr(self.model, "get_booster", lambda: None)()
        types = getattr(booster, "feature_types", None) or []
        categorical = [index for index, kind in enumerate(types) if kind == "c" and index < len(features)]
        known = _categories(booster) if categorical else {}
        whole = {features[index]: {"example": 1} for index, kind in enumerate(types) if kind in ("i", "int") and index < len(features)}
        return {**whole, **{features[index]: of_categories(known.get(index, [])) for index in categorical}}

    def is_callers_fault(self, error):
        return isinstance(error, (ValueError, TypeError))

    def message_of(self, error):
        return super().message_of(error).split("\nStack trace:", 1)[0]


def _best_trees(booster):
    """Arguments of predict for the trees that the estimator used which saved the file: those up to its best iteration. A Booster of its own uses all."""
    best = booster.attr("best_iteration")
    if best is None or booster.attr("scikit_learn") is None or _is_linear(booster):
        return {}
    if "iteration_range" in inspect.signature(booster.predict).parameters:
        return {"iteration_range": (0, int(best) + 1)}
    # XGBoost before 1.4.
    return {"ntree_limit": int(booster.attr("best_ntree_limit") or int(best) + 1)}


def _categories(booster):
    """By its place the values of a feature with categories; in the model's JSON, as the library itself needs pyarrow to tell them."""
    model = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]
    known = model.get("gbtree", model)["model"].get("cats", {}).get("enc", [])
    return {index: _values(each) for index, each in enumerate(known) if each["values"]}


def _values(category):
    """Numbers, or texts, whose UTF-8 is in one list."""
    if "offsets" not in category:
        return category["values"]
    text, offsets = bytes(value & 255 for value in category["values"]), category["offsets"]
    return [text[start:end].decode() for start, end in zip(offsets, offsets[1:])]


def _is_linear(booster):
    return json.loads(booster.save_config())["learner"]["gradient_booster"]["name"] == "gblinear"


def _feature_count(booster):
    if hasattr(booster, "num_features"):
        return booster.num_features()
    if hasattr(booster, "save_config"):
        return int(json.loads(booster.save_config())["learner"]["learner_model_param"]["num_feature"])
    # XGBoost before 1.0 says it in its file alone, behind the base score.
    return struct.unpack_from("<fI", booster.save_raw())[1]


def _estimator_of_mlflow(path):
    """An estimator of the class that MLflow's description beside the file names, whose answers are classes and not the Booster's values; None where it names none."""
    description = os.path.join(os.path.dirname(path), "MLmodel")
    if not os.path.isfile(description):
        return None
    with open(description, encoding="utf-8", errors="replace") as file:
        found = re.search(r"^ +model_class: xgboost\.sklearn\.(XGB\w+)$", file.read(MOST_DESCRIPTION), re.M)
    estimator = getattr(xgboost, found[1], None) if found is not None else None
    try:
        return estimator and estimator()
    except ImportError as error:
        raise refused(f"The folder's MLmodel says that the model is an {found[1]}, which needs scikit-learn, which this Python does not have: pip install scikit-learn. A copy of the file without MLmodel beside it is a Booster, whose answers are no classes.", error) from error


def _load_native(path):
    estimator = _estimator_of_mlflow(path)
    try:
        if estimator is None:
            return xgboost.Booster(model_file=path)
        estimator.load_model(path)
        return estimator
    except Exception as error:
        if "str[0] == '{'" in str(error):
            raise refused(f"The file is neither JSON nor UBJSON, which xgboost {xgboost.__version__} reads. The binary format of older versions is read by XGBoost 3.0 and before: load it there, and save_model it as model.ubj.", error) from error
        text = one_line(error).split("\nStack trace:", 1)[0]
        raise refused(f"xgboost {xgboost.__version__} cannot load the model: {text}", error) from error
