import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createTensor } from "../../../src/tensor/tensor.ts";
import { findPython } from "../../helpers/find-python.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { warmPython } from "../../helpers/warm-python.ts";
import { predict } from "../predict.ts";
import { loadModel } from "./load-model.ts";

const python = findPython("Estimators with several results", ["sklearn", "pandas", "joblib"]);
const warm = warmPython(python, "joblib", "pandas", "sklearn");

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
    """Returns what the last column chooses."""
    def predict(self, X):
        X, chosen = np.asarray(X, float)[:, :-1], int(X[0, -1])
        return list(RESULTS.values())[chosen](X.sum(1), X.std(1))

if __name__ == "__main__":
    import joblib
    sys.modules["several"] = sys.modules["__main__"]
    Estimator.__module__ = "several"
    joblib.dump(Estimator(), os.path.join(os.path.dirname(__file__), "estimator.joblib"))
`;

const FOREIGN = `
import numpy as np, pandas, scipy.sparse
class Model:
    def predict(self, inputs):
        x = inputs["x"]
        table = pandas.DataFrame({"sum": x.sum(1), "label": ["a", "b", "c"]})
        return {"table": table, "column": table["sum"], "sparse": scipy.sparse.csr_matrix(x), "pair": [table["sum"], x.std(1)]}
`;

const X = createTensor("float64", [3, 2], Float64Array.of(1, 3, 2, 2, 5, 5));
const MEAN = { dtype: "float64", shape: [3], data: Float64Array.of(4, 4, 10) };
const STD = { dtype: "float64", shape: [3], data: Float64Array.of(1, 0, 0) };
const LABEL = { dtype: "bytes", shape: [3] };

it.skipIf(python === undefined)("an estimator's several results are an output each", async () => {
  const folder = tempFolder({ "several.py": ESTIMATORS });
  execFileSync(warm, [join(folder, "several.py")]);
  const options = { python: warm, allow_pickle: "true" };
  const model = await loadModel("sklearn", join(folder, "estimator.joblib"), { options });
  const answer = async (chosen: number) => {
    const rows = [1, 3, chosen, 2, 2, chosen, 5, 5, chosen];
    return { ...(await predict(model, { x: createTensor("float64", [3, 3], Float64Array.from(rows)) })) };
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
  for (const [index, [name, outputs]] of Object.entries(expected).entries()) {
    const found = await answer(index);
    expect(Object.keys(found), name).toEqual(Object.keys(outputs));
    expect(found, name).toMatchObject(outputs);
  }
});

it.skipIf(python === undefined)("a class of the user's own may return other libraries' arrays and tables", async () => {
  const options = { python: warm, model_class: "foreign:Model" };
  const import_path = tempFolder({ "foreign.py": FOREIGN });
  const model = await loadModel("python", "", { options: { ...options, import_path } });
  expect(await predict(model, { x: X })).toMatchObject({
    "table.sum": MEAN,
    "table.label": LABEL,
    column: MEAN,
    sparse: { shape: [3, 2], data: Float64Array.of(1, 3, 2, 2, 5, 5) },
    "pair.0": MEAN,
    "pair.1": STD,
  });
});
