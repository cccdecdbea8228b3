import { PYTHON_FRAMEWORKS, type PythonFramework } from "../../runtimes/python-frameworks.ts";
import { type Driver, defineDriver } from "../driver.ts";
import { boosterLibrary } from "./booster-file.ts";
import { PYTHON_HOST_OPTIONS, type PythonHostOptions } from "./host-options.ts";
import { loadPythonModel } from "./load-python-model.ts";
import { PICKLE_OPTIONS, type PickleOptions } from "./pickle-options.ts";

/** The driver of a framework that needs nothing but its entry of {@link PYTHON_FRAMEWORKS} and its Python module. */
export function frameworkDriver(name: string): Driver {
  const { title, module, install, files = "", endings = [], hasPickles } = PYTHON_FRAMEWORKS[name] as PythonFramework;
  const framework = { name, title, module, files, howToInstall: `Install it there: ${install}.` };
  return defineDriver<PythonHostOptions & Partial<Pick<PickleOptions, "allow_pickle">>>({
    name,
    options: hasPickles ? PICKLE_OPTIONS : PYTHON_HOST_OPTIONS,
    placement: "inline",
    isIsolated: true,
    detect: (path) => {
      const library = boosterLibrary(path);
      return library === undefined ? endings.some((ending) => path.toLowerCase().endsWith(ending)) : library === name;
    },
    load: (path, options, host) => {
      const own = hasPickles ? { allow_pickle: options.allow_pickle } : {};
      return loadPythonModel({ framework, path, options, own }, host);
    },
  });
}
