import { defineDriver } from "./driver.ts";
import { loadPythonModel } from "./python/load-python-model.ts";
import { PICKLE_OPTIONS, type PickleOptions } from "./python/pickle-options.ts";

/** Runs XGBoost's models in the user's own Python. */
export default defineDriver<PickleOptions>({
  name: "xgboost",
  options: PICKLE_OPTIONS,
  placement: "inline",
  isIsolated: true,
  detect: (path) => /\.(ubj|bst|xgb)$/i.test(path),
  load: (path, options, host) => {
    const own = { allow_pickle: options.allow_pickle };
    return loadPythonModel({ framework: XGBOOST, path, options, own }, host);
  },
});

const XGBOOST = {
  name: "xgboost",
  title: "XGBoost",
  files: "a .ubj, .json or .pkl file",
  howToInstall: "Install it there: pip install xgboost.",
};
