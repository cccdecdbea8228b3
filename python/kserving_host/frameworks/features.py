"""What the features of a model of tables take: numbers, texts or truths, and which categories, as far as the model tells."""

import math

import numpy as np

# Of a feature, for clients.
MOST_CATEGORIES = 100
# Characters of a category that people can read.
LONGEST_CATEGORY = 200

# Where estimators that wrap others keep the one that was trained.
INNER = ("best_estimator_", "estimator_", "regressor_", "_preprocessor")

# Modules of scikit-learn all of whose estimators make numbers of what they get, texts too.
OF_NUMBERS = tuple(
    f"sklearn.{name}."
    for name in (
        *("cluster", "decomposition", "discriminant_analysis", "ensemble._forest", "ensemble._gb", "ensemble._hist_gradient_boosting", "impute._knn"),
        *("linear_model", "naive_bayes", "neighbors", "neural_network", "preprocessing._data", "preprocessing._discretization", "preprocessing._polynomial", "svm", "tree"),
    )
)


def features_of_steps(estimator, names):
    """By name what scikit-learn's encoders, imputers, counters of words, and estimators of numbers tell of the columns that reach them unchanged; nothing beside a name means numbers."""
    found = {}
    try:
        _walk(estimator, names, found)
    except Exception:
        # Estimators of other libraries may lack anything, and raise anything.
        pass
    return {name: each for name, each in found.items() if name in set(names)}


def of_categories(values):
    """dtype and categories of a feature that has these values, among which may be one for missing ones."""
    values = [value for value in np.asarray(values, object).tolist() if value is not None and value == value]
    if values and all(isinstance(value, (bool, np.bool_)) for value in values):
        return {"dtype": "bool"}
    if values and all(isinstance(value, str) for value in values):
        return {"dtype": "bytes", "categories": [value for value in values[:MOST_CATEGORIES] if len(value) <= LONGEST_CATEGORY]}
    if values and all(isinstance(value, (int, float, np.number)) and math.isfinite(value) for value in values):
        return {"categories": [float(value) for value in values[:MOST_CATEGORIES]]}
    return {}


def _walk(step, names, found, is_first=True):
    if step is None or isinstance(step, str):
        return
    for name, told in zip(names, _told(step, len(names), is_first)):
        found[name] = {**told, **found.get(name, {})}
    for index, (part, columns) in enumerate(_parts(step, names)):
        # Steps of other libraries may make numbers of texts under the same names.
        _walk(part, columns, found, is_first and (index == 0 or not hasattr(step, "steps")))


def _told(step, count, is_first):
    """What a step itself tells of its columns."""
    if hasattr(step, "build_analyzer"):
        return [{"dtype": "bytes"}] * count
    for attribute in ("categories_", "statistics_"):
        values = getattr(step, attribute, None)
        if values is not None and len(values) == count:
            return [of_categories(each) if attribute == "categories_" else _of_filling(each) for each in values]
    return [{}] * count if is_first and f"{type(step).__module__}.".startswith(OF_NUMBERS) else []


def _of_filling(value):
    return {"dtype": "bytes"} if isinstance(value, str) else {}


def _parts(step, names):
    """Pairs of an estimator within another one, and the names of its columns."""
    if hasattr(step, "transformers_"):
        return [(part, _selected(step, name, columns, names)) for name, part, columns in step.transformers_]
    if hasattr(step, "steps"):
        return _chained([part for _, part in step.steps], names)
    if hasattr(step, "transformer_list"):
        return [(part, names) for _, part in step.transformer_list]
    return [(getattr(step, attribute), names) for attribute in INNER if hasattr(step, attribute)]


def _chained(parts, names):
    """Steps behind one another, as far as they keep the columns."""
    chained = []
    for part in parts:
        chained.append((part, names))
        if part is None or isinstance(part, str):
            continue
        try:
            after = [str(name) for name in part.get_feature_names_out(names)]
        except Exception:
            break
        # An imputer may put indicators behind them.
        if after[: len(names)] != names:
            break
        names = after
    return chained


def _selected(step, name, columns, names):
    indices = getattr(step, "_transformer_to_input_indices", {}).get(name)
    if indices is not None:
        return [names[index] for index in indices]
    listed = [columns] if isinstance(columns, str) else list(columns)
    return [names[each] if isinstance(each, int) else str(each) for each in listed]
