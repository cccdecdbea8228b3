import { join } from "node:path";
import { failedPrecondition, invalidArgument } from "../../errors.ts";
import { installOnnx } from "../../runtimes/install-onnx.ts";
import { listRuntimes } from "../../runtimes/list-runtimes.ts";
import { onnx } from "../../runtimes/native-runtimes.ts";
import { probeRuntime } from "../../runtimes/probe.ts";
import { createReporter } from "../../runtimes/reporter.ts";
import { runtimesFolder } from "../../runtimes/runtimes-folder.ts";
import { untilInterrupted } from "../lifecycle/until-interrupted.ts";
import type { InstallFlags } from "./install-flags.ts";

/** `kserving runtimes install onnx`, into a runtimes folder. Throws when it does not load in the end. */
export async function installOnnxCommand(flags: InstallFlags, root: string): Promise<void> {
  const { version, path, force = false } = flags;
  checkFlags(flags);
  const options = { version, path, root, force, reporter: createReporter(process.stderr) };
  const run = (signal: AbortSignal) => installOnnx({ ...options, signal });
  const { runtime, isNew } = await untilInterrupted(run, "nothing was installed");
  const how = isNew ? "is installed" : "was installed before (--force installs it again)";
  console.log(`${onnx.title} ${runtime.version} ${how}: ${runtime.folder}`);
  const library = join(runtime.folder, "node_modules", onnx.package);
  const probe = await probeRuntime({ runtime: onnx.name, library });
  if (!probe.loads) {
    throw failedPrecondition(`${onnx.title} is in place but does not load here: ${probe.reason}`);
  }
  console.log(`It loads here, with ${probe.devices.join(", ")}.`);
  if (root !== runtimesFolder()) return console.log(`Drivers find it with KSERVING_RUNTIMES_DIR=${root}`);
  await tellWhatComesBefore(library);
}

/** Its archives come from npm alone. */
function checkFlags({ wheel, jar, from, path, version }: InstallFlags): void {
  const [given] = Object.entries({ wheel, jar, from }).find(([, value]) => value !== undefined) ?? [];
  if (given !== undefined) {
    const message = `--${given} is not for ${onnx.title}, which npm downloads from its registry (npm config get registry); for a copy that is there use --path DIR.`;
    throw invalidArgument(message);
  }
  if (path === undefined || version === undefined) return;
  throw invalidArgument("--path and --version exclude each other; give one of them.");
}

async function tellWhatComesBefore(library: string): Promise<void> {
  const { found } = (await listRuntimes()).find(({ name }) => name === onnx.name) ?? { found: [] };
  const used = found.find(({ isUsed }) => isUsed);
  if (used?.path === undefined || used.path === library) return;
  console.log(`The driver takes another one before it, from ${used.source}: ${used.path}`);
}
