import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createTensor } from "../../../src/tensor/tensor.ts";
import { findPython } from "../../helpers/find-python.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { predict } from "../predict.ts";
import { loadModel } from "./load-model.ts";

const python = findPython("Estimators with several results", ["sklearn", "pandas", "joblib"]);

const ESTIMATORS = `
import collections, dataclasses, os, sys
import numpy as np, pandas

@dataclasses.dataclass
class Spread:
    mean: np.ndarray
    std: np.ndarray

Pair = collections.namedtuple("Pair", "mean std")

RESULTS = {
    "tuple": lambda m, s: (m, s),
    "one": lambda m, s: (m,),
    "lists": lambda m, s: (m.tolist(), s.tolist()),
    "list": lambda m, s: [m, s],
    "dict": lambda m, s: {"mean": m, "std": s},
    "named": Pair,
    "dataclass": Spread,
    "nested": lambda m, s: {"best": m, "rest": (s, None)},
    "table": lambda m, s: pandas.DataFrame({"mean": m, "label": ["a", "b", "c"]}),
    "numbers": lambda m, s: pandas.DataFrame({"mean": m, "std": s}),
    "rows": lambda m, s: [[each, each] for each in m.tolist()],
    "scalars": lambda m, s: tuple(m),
}

class Estimator:
    def __init__(self, result):
        self.result = result
    def predict(self, X):
        X = np.asarray(X, float)
        return RESULTS[self.result](X.sum(1), X.std(1))

if __name__ == "__main__":
    import joblib
    sys.modules["several"] = sys.modules["__main__"]
    Estimator.__module__ = "several"
    for name in RESULTS:
        joblib.dump(Estimator(name), os.path.join(os.path.dirname(__file__), f"{name}.joblib"))
`;

const X = createTensor("float64", [3, 2], Float64Array.of(1, 3, 2, 2, 5, 5));
const MEAN = { dtype: "float64", shape: [3], data: Float64Array.of(4, 4, 10) };
const STD = { dtype: "float64", shape: [3], data: Float64Array.of(1, 0, 0) };
const LABEL = { dtype: "bytes", shape: [3] };

it.skipIf(python === undefined)("an estimator's several results are an output each", async () => {
  const folder = tempFolder({ "several.py": ESTIMATORS });
  execFileSync(python as string, [join(folder, "several.py")]);
  const answer = async (name: string) => {
    const options = { python: python as string, allow_pickle: "true" };
    const model = await loadModel("sklearn", join(folder, `${name}.joblib`), { options });
    return { ...(await predict(model, { x: X })) };
  };
  const two = { "predict.0": MEAN, "predict.1": STD };
  const named = { "predict.mean": MEAN, "predict.std": STD };
  const expected = {
    tuple: two,
    one: { "predict.0": MEAN },
    lists: two,
    list: two,
    dict: named,
    named,
    dataclass: named,
    nested: { "predict.best": MEAN, "predict.rest.0": STD },
    table: { "predict.mean": MEAN, "predict.label": LABEL },
    numbers: { predict: { shape: [3, 2], data: Float64Array.of(4, 1, 4, 0, 10, 0) } },
    rows: { predict: { shape: [3, 2] } },
    scalars: { predict: MEAN },
  };
  for (const [name, outputs] of Object.entries(expected)) {
    const found = await answer(name);
    expect(Object.keys(found), name).toEqual(Object.keys(outputs));
    expect(found, name).toMatchObject(outputs);
  }
});
