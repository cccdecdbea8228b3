import { frameworkPythons, runPython } from "./python.ts";
import { PYTHON_FRAMEWORKS, type PythonFramework } from "./python-frameworks.ts";
import type { FoundRuntime, RuntimeReport } from "./runtime-report.ts";

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
names = ${JSON.stringify(Object.values(PYTHON_FRAMEWORKS).map(({ project }) => project))}
print(json.dumps([sys.executable, sys.version.split()[0], {name: version(name) for name in names}]))`;

type Printed = readonly [path: string, python: string, versions: Readonly<Record<string, string | null>>];

/** Finds each framework by running each interpreter that a driver would use. */
export async function listFrameworks(): Promise<RuntimeReport[]> {
  const printed = await Promise.all(frameworkPythons().map((command) => runPython(command, PRINT_PROJECTS)));
  const lines = [...new Set(printed.filter((text) => text !== undefined))];
  const interpreters = lines.map((line) => JSON.parse(line) as Printed);
  return Object.entries(PYTHON_FRAMEWORKS).map(([name, framework]) => toReport(name, framework, interpreters));
}

/** A driver takes the first interpreter that has its framework. */
function toReport(
  name: string,
  { title, project, install }: PythonFramework,
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
