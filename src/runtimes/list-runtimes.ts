import { reasonText } from "../errors.ts";
import { seemsToHaveGpu } from "./cuda-driver.ts";
import { findLibraries, findLibrary } from "./find-library.ts";
import { listFrameworks } from "./list-frameworks.ts";
import type { NativeRuntime } from "./native-runtime.ts";
import { findOnnx, onnx } from "./onnx.ts";
import { onnxCuda } from "./onnx-cuda.ts";
import { type Probe, probeRuntime } from "./probe.ts";
import { NATIVE_RUNTIMES } from "./registry.ts";
import type { FoundRuntime, RuntimeReport } from "./runtime-report.ts";

/** Searches all places for every runtime, and loads those it finds in separate processes. */
export async function listRuntimes(): Promise<RuntimeReport[]> {
  const libraries = Promise.all([...NATIVE_RUNTIMES.map(reportNative), reportOnnx()]);
  const [ofLibraries, ofFrameworks] = await Promise.all([libraries, listFrameworks()]);
  return [...ofLibraries.filter(isWorthListing), ...ofFrameworks];
}

/** Checks that a runtime that was not found is of use here: that for CUDA is where there is a GPU. */
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

/** An environment variable may name a place where there is nothing, which a driver refuses. */
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
