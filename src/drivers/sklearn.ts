import { defineDriver } from "./driver.ts";
import { loadPythonModel } from "./python/load-python-model.ts";
import { PICKLE_OPTIONS, type PickleOptions } from "./python/pickle-options.ts";

/** Runs scikit-learn's estimators and pipelines in the user's own Python. */
export default defineDriver<PickleOptions>({
  name: "sklearn",
  options: PICKLE_OPTIONS,
  placement: "inline",
  isIsolated: true,
  detect: (path) => /\.(joblib|pkl|pickle)$/i.test(path),
  load: (path, options, host) => {
    const own = { allow_pickle: options.allow_pickle };
    return loadPythonModel({ framework: SKLEARN, path, options, own }, host);
  },
});

const SKLEARN = {
  name: "sklearn",
  title: "scikit-learn",
  files: "a .joblib or .pkl file",
  howToInstall: "Install it there: pip install scikit-learn, or apt-get install python3-sklearn.",
};
