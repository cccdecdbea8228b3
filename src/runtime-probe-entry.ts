import { importOnnxRuntime } from "./drivers/onnx/onnx-runtime.ts";
import { reasonText } from "./errors.ts";
import { askRuntime } from "./runtimes/ask-runtime.ts";
import type { Probe, RuntimeFacts } from "./runtimes/probe.ts";

const [runtime = "", library = ""] = process.argv.slice(2);
const asked = runtime === "onnx" ? askOnnxRuntime(library) : askRuntime(runtime, library);
const probe: Probe = await asked.then(
  (facts) => ({ loads: true, ...facts }),
  (reason) => ({ loads: false, reason: reasonText(reason) }),
);
// The asking side ends this process: what a runtime does as it is unloaded is of no interest.
process.send?.(probe);

async function askOnnxRuntime(path: string): Promise<RuntimeFacts> {
  const { api } = await importOnnxRuntime([{ path, source: path }]);
  const { env, listSupportedBackends } = api;
  return {
    version: env.versions.node ?? env.versions.common,
    devices: listSupportedBackends().map(({ name }) => name),
  };
}
