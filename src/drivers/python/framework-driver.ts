import { PYTHON_FRAMEWORKS, type PythonFramework } from "../../runtimes/python-frameworks.ts";
import { type Driver, defineDriver } from "../driver.ts";
import type { OptionTable } from "../option-table.ts";
import { boosterLibrary } from "./booster-file.ts";
import { frameworkOptions } from "./framework-options.ts";
import { loadPythonModel } from "./load-python-model.ts";
import { PYTHON_HOST_OPTIONS, type PythonHostOptions } from "./python-host-options.ts";

/**
 * The driver of a framework that needs nothing but its entry of
 * {@link PYTHON_FRAMEWORKS}, its options and its Python module.
 */
export function frameworkDriver(name: string): Driver {
  const { title, module, install, files = "", endings = [] } = PYTHON_FRAMEWORKS[name] as PythonFramework;
  const framework = { name, title, module, files, howToInstall: `Install it there: ${install}.` };
  const ownTable = frameworkOptions(name);
  return defineDriver<PythonHostOptions>({
    name,
    options: { ...ownTable, ...PYTHON_HOST_OPTIONS } as OptionTable<PythonHostOptions>,
    placement: "inline",
    isIsolated: true,
    detect: (path) => {
      const library = boosterLibrary(path);
      return library === undefined ? endings.some((ending) => path.toLowerCase().endsWith(ending)) : library === name;
    },
    load: (path, options, host) => {
      const own = Object.fromEntries(Object.entries(options).filter(([key]) => Object.hasOwn(ownTable, key)));
      return loadPythonModel({ framework, path, options, own }, host);
    },
  });
}
