import { reasonText } from "../../errors.ts";
import { toColumns } from "../../platform/text/terminal.ts";
import { seemsToHaveGpu } from "./cuda.ts";
import { findLibraries, findLibrary } from "./find-library.ts";
import { NATIVE_RUNTIMES, type NativeRuntime, onnx, onnxCuda } from "./native-runtimes.ts";
import { findOnnx } from "./onnx.ts";
import { type Probe, probeRuntime } from "./probe.ts";
import { frameworkPythons, runPython } from "./python.ts";
import { PYTHON_FRAMEWORKS, type PythonFramework } from "./python-frameworks.ts";

/** The place of a runtime that was found. */
export interface FoundRuntime {
  /** The kind of place, as people would name it. */
  readonly source: string;
  /** The library, the interpreter, or the folder of an npm package. */
  readonly path?: string;
  /** Absent if it does not load. */
  readonly version?: string;
  readonly devices?: readonly string[];
  /** The reason why it cannot be used, or not on all of its devices. */
  readonly problem?: string;
  /** True for the one that a driver would take. */
  readonly isUsed: boolean;
}

/** Facts about one runtime. */
export interface RuntimeReport {
  readonly name: string;
  readonly title: string;
  /** All its places, in the order of the search. */
  readonly found: readonly FoundRuntime[];
  /** The command to run if none was found that loads. */
  readonly install?: string;
}

/** Searches all places for every runtime, and loads those it finds in separate processes. */
export async function listRuntimes(): Promise<RuntimeReport[]> {
  const libraries = Promise.all([...NATIVE_RUNTIMES.map(reportNative), reportOnnx()]);
  const [ofLibraries, ofFrameworks] = await Promise.all([libraries, listFrameworks()]);
  return [...ofLibraries.filter(isWorthListing), ...ofFrameworks];
}

/** Checks that a runtime that was not found is of use here: that for CUDA is if there is a GPU. */
function isWorthListing({ name, found }: RuntimeReport): boolean {
  return name !== onnxCuda.name || found.length > 0 || seemsToHaveGpu();
}

async function reportNative(runtime: NativeRuntime): Promise<RuntimeReport> {
  const { name, title, install = name } = runtime;
  const chosen = choose(runtime);
  const found: FoundRuntime[] = await Promise.all(
    [...findLibraries(runtime)].map(async ({ path, source }) => {
      const probe = await probeRuntime({ runtime: name, library: path });
      return { source, path, ...toFacts(probe), isUsed: path === chosen.path };
    }),
  );
  if (chosen.problem !== undefined) found.unshift({ source: "environment", problem: chosen.problem, isUsed: true });
  const works = found.some(({ version }) => version !== undefined);
  return { name, title, found, ...(!works && { install: `kserving runtimes install ${install}` }) };
}

/** An environment variable may name an empty place, which a driver refuses. */
function choose(runtime: NativeRuntime): { readonly path?: string | undefined; readonly problem?: string } {
  try {
    return { path: findLibrary(runtime)?.path };
  } catch (reason) {
    return { problem: reasonText(reason) };
  }
}

function toFacts(probe: Probe): Pick<FoundRuntime, "version" | "devices" | "problem"> {
  if (!probe.loads) return { problem: probe.reason };
  const { version, devices, lacks } = probe;
  return { version, devices, ...(lacks !== undefined && { problem: lacks }) };
}

/** The driver takes the first copy that loads. */
async function reportOnnx(): Promise<RuntimeReport> {
  const { name, title } = onnx;
  const probes = await Promise.all(
    findOnnx().map(async (copy) => ({
      ...copy,
      ...toFacts(await probeRuntime({ runtime: name, library: copy.path })),
    })),
  );
  const used = probes.find(({ version }) => version !== undefined);
  const found = probes.map((copy) => ({ ...copy, isUsed: copy === used }));
  return { name, title, found, ...(used === undefined && { install: `kserving runtimes install ${name}` }) };
}

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

const HEADINGS = ["", "Runtime", "Version", "Devices", "Found in"] as const;
const GAP = "  ";

/**
 * The runtimes as a table: a row for every place, a star before what would be used,
 * and below it what to do about the rest.
 */
export function toRuntimesTable(reports: readonly RuntimeReport[]): string {
  const rows = [HEADINGS, ...reports.flatMap(toRows)];
  const lines = toColumns(rows);
  const advice = reports.flatMap(({ title, install }) => (install === undefined ? [] : [`${title}: ${install}`]));
  return [...lines, ...(advice.length === 0 ? [] : ["", "What is missing:", ...advice.map((text) => GAP + text)])].join(
    "\n",
  );
}

function toRows({ name, found }: RuntimeReport): (readonly string[])[] {
  if (found.length === 0) return [["", name, "-", "-", "nowhere"]];
  return found.map((each) => [
    each.isUsed ? "*" : "",
    name,
    each.version ?? "-",
    each.devices?.join(", ") || "-",
    toPlace(each),
  ]);
}

function toPlace({ source, path, problem }: FoundRuntime): string {
  return `${source}${path === undefined ? "" : `: ${path}`}${problem === undefined ? "" : ` (${problem})`}`;
}
