import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { importOnnxRuntime } from "./drivers/onnx/onnx-runtime.ts";
import { reasonText } from "./errors.ts";
import { askRuntime } from "./storage/runtimes/ask-runtime.ts";
import { CUDA_PROVIDER } from "./storage/runtimes/native-runtimes.ts";
import { libraryOf } from "./storage/runtimes/onnx.ts";
import type { Probe, RuntimeFacts } from "./storage/runtimes/probe.ts";

/** Providers that the library names although they are in files of their own. */
const OF_CUDA = ["cuda", "tensorrt"];

const [runtime = "", library = ""] = process.argv.slice(2);
const askers: Readonly<Record<string, (library: string) => Promise<RuntimeFacts>>> = {
  onnx: askOnnxRuntime,
  "onnx-cuda": askOnnxCuda,
};
const asked = (askers[runtime] ?? ((path) => askRuntime(runtime, path)))(library);
const probe: Probe = await asked.then(
  (facts) => ({ loads: true, ...facts }),
  (reason) => ({ loads: false, reason: reasonText(reason) }),
);
// The asking side ends this process: what a runtime does as it is unloaded is of no interest.
process.send?.(probe);

/** Only the driver's own code knows the functions of ONNX Runtime. */
async function askOnnxCuda(library: string): Promise<RuntimeFacts> {
  const { askCuda } = await import("./drivers/onnx/native/ask-cuda.ts");
  return askCuda(library);
}

async function askOnnxRuntime(path: string): Promise<RuntimeFacts> {
  const { api } = await importOnnxRuntime([{ path, source: path }]);
  const { env, listSupportedBackends } = api;
  const hasCuda = existsSync(join(dirname(libraryOf(path)), CUDA_PROVIDER));
  const devices = listSupportedBackends().map(({ name }) => name);
  return {
    version: env.versions.node ?? env.versions.common,
    devices: devices.filter((name) => hasCuda || !OF_CUDA.includes(name)),
  };
}
