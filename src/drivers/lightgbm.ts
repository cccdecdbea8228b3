import { defineDriver } from "./driver.ts";
import { loadPythonModel } from "./python/load-python-model.ts";
import { PICKLE_OPTIONS, type PickleOptions } from "./python/pickle-options.ts";

/** Runs LightGBM's models in the user's own Python. */
export default defineDriver<PickleOptions>({
  name: "lightgbm",
  options: PICKLE_OPTIONS,
  placement: "inline",
  isIsolated: true,
  detect: (path) => /\.(lgb|lgbm)$/i.test(path),
  load: (path, options, host) => {
    const own = { allow_pickle: options.allow_pickle };
    return loadPythonModel({ framework: LIGHTGBM, path, options, own }, host);
  },
});

const LIGHTGBM = {
  name: "lightgbm",
  title: "LightGBM",
  files: "a model as text (.txt, .lgb) or a .pkl file",
  howToInstall: "Install it there: pip install lightgbm.",
};
