import { frameworkPythons, runPython } from "./python.ts";
import type { FoundRuntime, RuntimeReport } from "./runtime-report.ts";

/** A framework whose models run in Python: what people call it, its project in the Python package index, and how to get it. */
interface Framework {
  readonly title: string;
  readonly project: string;
  readonly install: string;
}

/** By driver. */
const FRAMEWORKS: Readonly<Record<string, Framework>> = {
  python: { title: "numpy", project: "numpy", install: "pip install numpy, for every driver of models in Python" },
  pytorch: {
    title: "PyTorch",
    project: "torch",
    install: "kserving runtimes install pytorch, or apt-get install python3-torch",
  },
  sklearn: {
    title: "scikit-learn",
    project: "scikit-learn",
    install: "pip install scikit-learn, or apt-get install python3-sklearn",
  },
  xgboost: { title: "XGBoost", project: "xgboost", install: "pip install xgboost" },
  lightgbm: { title: "LightGBM", project: "lightgbm", install: "pip install lightgbm" },
};

/**
 * Prints the interpreter, its version and those of the projects; reads only their metadata, since importing torch takes
 * seconds.
 */
const PRINT_PROJECTS = `
import json, sys
from importlib import metadata
def version(name):
    try: return metadata.version(name)
    except metadata.PackageNotFoundError: return None
names = ${JSON.stringify(Object.values(FRAMEWORKS).map(({ project }) => project))}
print(json.dumps([sys.executable, sys.version.split()[0], {name: version(name) for name in names}]))`;

type Printed = readonly [path: string, python: string, versions: Readonly<Record<string, string | null>>];

/** Finds each framework by running each interpreter that a driver would use. */
export async function listFrameworks(): Promise<RuntimeReport[]> {
  const printed = await Promise.all(frameworkPythons().map((command) => runPython(command, PRINT_PROJECTS)));
  const lines = [...new Set(printed.filter((text) => text !== undefined))];
  const interpreters = lines.map((line) => JSON.parse(line) as Printed);
  return Object.entries(FRAMEWORKS).map(([name, framework]) => toReport(name, framework, interpreters));
}

/** A driver takes the first interpreter that has its framework. */
function toReport(
  name: string,
  { title, project, install }: Framework,
  interpreters: readonly Printed[],
): RuntimeReport {
  const having = interpreters.filter(([, , versions]) => versions[project] != null);
  const found = having.map(
    ([path, python, versions], index): FoundRuntime => ({
      source: `Python ${python}`,
      path,
      version: versions[project]!,
      isUsed: index === 0,
    }),
  );
  return { name, title, found, ...(found.length === 0 && { install }) };
}
