"""Makes toy models of scikit-learn, and of XGBoost, LightGBM, CatBoost and statsmodels where they are installed, with their own answers: make-estimators.py FOLDER [LIBRARY...].

answers.json has by file the outputs for the two rows of ROWS, as dtype, shape and nested lists.
"""

import json
import os
import pickle
import sys

import numpy as np

ROWS = np.array([[0.1, 2.0, 3.0], [3.0, 0.2, 1.0]], np.float32)


def plain(value):
    array = np.asarray(value)
    return {"dtype": array.dtype.name if array.dtype.kind not in "UO" else "bytes", "shape": list(array.shape), "values": array.tolist()}


def pickle_to(folder, name, value):
    with open(os.path.join(folder, name), "wb") as file:
        pickle.dump(value, file)


def answers_of(classifier):
    return {"result": plain(classifier.predict(ROWS)), "predict_proba": plain(classifier.predict_proba(ROWS))}


def train_data():
    random = np.random.RandomState(0)
    features = random.rand(60, 3).astype(np.float32) * 3
    return features, (features[:, 0] > features[:, 1]).astype(int)


def tables(features, labels):
    """A data frame of two kinds of columns, and another of two rows: [1, "no"] and [2, "yes"]."""
    import pandas

    table = pandas.DataFrame({"size": features[:, 0].astype(np.float64), "kind": np.array(["no", "yes"])[labels]})
    return table, pandas.DataFrame({"size": [1.0, 2.0], "kind": ["no", "yes"]})


def sklearn_models(folder, features, labels):
    import joblib
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    classifier = make_pipeline(StandardScaler(), LogisticRegression()).fit(features, np.array(["no", "yes"])[labels])
    joblib.dump(classifier, os.path.join(folder, "classifier.joblib"))
    scaler = StandardScaler().fit(features)
    pickle_to(folder, "scaler.pkl", scaler)
    table, few = tables(features, labels)
    encoder = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    columns = make_pipeline(encoder, LinearRegression()).fit(table, features[:, 1])
    joblib.dump(columns, os.path.join(folder, "columns.joblib"))
    names = ("predict", "predict_proba", "predict_log_proba")
    return {
        "classifier.joblib": {name: plain(getattr(classifier, name)(ROWS)) for name in names},
        "scaler.pkl": {"transform": plain(scaler.transform(ROWS))},
        "columns.joblib": {"predict": plain(columns.predict(few))},
    }


def xgboost_models(folder, features, labels):
    import xgboost

    booster = xgboost.train({"objective": "binary:logistic", "max_depth": 2, "nthread": 1}, xgboost.DMatrix(features, labels), 5)
    booster.save_model(os.path.join(folder, "booster.ubj"))
    booster.save_model(os.path.join(folder, "booster.json"))
    answer = {"result": plain(booster.predict(xgboost.DMatrix(ROWS)))}
    booster.feature_names = ["a", "b", "c"]
    booster.save_model(os.path.join(folder, "named.ubj"))
    booster.feature_names = None
    pickle_to(folder, "booster.pkl", booster)
    classifier = xgboost.XGBClassifier(max_depth=2, n_estimators=5, n_jobs=1).fit(features, labels)
    pickle_to(folder, "xgboost.pkl", classifier)
    return {"booster.ubj": answer, "booster.json": answer, "booster.pkl": answer, "named.ubj": answer, "xgboost.pkl": answers_of(classifier), **stopped_models(folder, features, labels)}


def stopped_models(folder, features, labels):
    """Trained on labels of which some are wrong, until more trees made it worse: an estimator uses the best ones, a Booster all."""
    import xgboost

    noisy = np.where(np.arange(len(labels)) % 4 == 0, 1 - labels, labels)
    options = {"objective": "binary:logistic", "eta": 0.8, "nthread": 1}
    train, held = xgboost.DMatrix(features[:40], noisy[:40]), xgboost.DMatrix(features[40:], labels[40:])
    booster = xgboost.train(options, train, 40, evals=[(held, "held")], early_stopping_rounds=5, verbose_eval=False)
    booster.save_model(os.path.join(folder, "stopped-booster.json"))
    classifier = xgboost.XGBClassifier(n_estimators=40, learning_rate=0.8, n_jobs=1, early_stopping_rounds=5)
    classifier.fit(features[:40], noisy[:40], eval_set=[(features[40:], labels[40:])], verbose=False)
    for ending in ("json", "ubj"):
        classifier.save_model(os.path.join(folder, f"stopped.{ending}"))
    pickle_to(folder, "stopped.pkl", classifier)
    best = {"result": plain(classifier.predict_proba(ROWS)[:, 1])}
    return {"stopped.json": best, "stopped.ubj": best, "stopped.pkl": answers_of(classifier), "stopped-booster.json": {"result": plain(booster.predict(xgboost.DMatrix(ROWS)))}}


def lightgbm_models(folder, features, labels):
    import lightgbm

    booster = lightgbm.train({"objective": "binary", "verbose": -1, "min_data_in_leaf": 2, "num_threads": 1}, lightgbm.Dataset(features, labels), 5)
    booster.save_model(os.path.join(folder, "booster.lgb"))
    named = lightgbm.train({"objective": "binary", "verbose": -1, "min_data_in_leaf": 2, "num_threads": 1}, lightgbm.Dataset(features, labels, feature_name=["a", "b", "c"]), 5)
    named.save_model(os.path.join(folder, "named.lgb"))
    without = named.predict(np.where([False, True, False], np.nan, ROWS))
    classifier = lightgbm.LGBMClassifier(n_estimators=5, min_child_samples=2, n_jobs=1, verbose=-1).fit(features, labels)
    pickle_to(folder, "lightgbm.pkl", classifier)
    noisy = np.where(np.arange(len(labels)) % 4 == 0, 1 - labels, labels)
    stopped = lightgbm.LGBMClassifier(n_estimators=40, learning_rate=0.8, min_child_samples=2, n_jobs=1, verbose=-1)
    stopped.fit(features[:40], noisy[:40], eval_set=[(features[40:], labels[40:])], callbacks=[lightgbm.early_stopping(5, verbose=False)])
    pickle_to(folder, "stopped-lightgbm.pkl", stopped)
    pickle_to(folder, "stopped-booster.pkl", stopped.booster_)
    stopped.booster_.save_model(os.path.join(folder, "stopped.lgb"))
    best = {"result": plain(stopped.predict_proba(ROWS)[:, 1])}
    return {"stopped-lightgbm.pkl": answers_of(stopped), "stopped-booster.pkl": best, "stopped.lgb": best, "booster.lgb": {"result": plain(booster.predict(ROWS))}, "named.lgb": {"result": plain(named.predict(ROWS))}, "named.lgb without b": {"result": plain(without)}, "lightgbm.pkl": answers_of(classifier)}


def catboost_models(folder, features, labels):
    import catboost

    options = {"iterations": 5, "depth": 2, "verbose": False, "thread_count": 1, "allow_writing_files": False}
    classifier = catboost.CatBoostClassifier(**options).fit(features, np.array(["no", "yes"])[labels])
    classifier.save_model(os.path.join(folder, "classifier.cbm"))
    regressor = catboost.CatBoostRegressor(**options).fit(features, features[:, 0])
    regressor.save_model(os.path.join(folder, "catboost.json"), format="json")
    pickle_to(folder, "catboost.pkl", classifier)
    answer = answers_of(classifier)
    return {"classifier.cbm": answer, "catboost.pkl": answer, "catboost.json": {"result": plain(regressor.predict(ROWS))}}


def statsmodels_models(folder, features, labels):
    import statsmodels.api as sm
    import statsmodels.formula.api as smf

    rows = features.astype(np.float64)
    regression = sm.OLS(rows[:, 0] * 2 + labels, rows).fit()
    regression.save(os.path.join(folder, "ols.pickle"))
    table, few = tables(features, labels)
    formula = smf.ols("y ~ np.log(size + 1) + C(kind)", table.assign(y=rows[:, 1])).fit()
    formula.save(os.path.join(folder, "formula.pickle"))
    series = sm.tsa.ARIMA(np.sin(np.arange(60) / 3), order=(2, 0, 0)).fit()
    series.save(os.path.join(folder, "arima.pickle"))
    return {
        "ols.pickle": {"predict": plain(regression.predict(ROWS))},
        "formula.pickle": {"predict": plain(formula.predict(few))},
        "arima.pickle": {"forecast": plain(series.forecast(3))},
    }


FAMILIES = {
    "sklearn": sklearn_models,
    "xgboost": xgboost_models,
    "lightgbm": lightgbm_models,
    "catboost": catboost_models,
    "statsmodels": statsmodels_models,
}


def main(folder, names):
    os.makedirs(folder, exist_ok=True)
    answers = {"rows": ROWS.tolist()}
    for name in names:
        try:
            answers.update(FAMILIES[name](folder, *train_data()))
        except ImportError as error:
            print(error, file=sys.stderr)
    with open(os.path.join(folder, "answers.json"), "w") as file:
        json.dump(answers, file)


main(sys.argv[1], sys.argv[2:] or FAMILIES)
