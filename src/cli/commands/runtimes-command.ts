import { dirname, join, resolve } from "node:path";
import { type Command, Option } from "commander";
import { failedPrecondition, invalidArgument } from "../../errors.ts";
import { cudaLibraries, cudaVersionOf, loadCudaLibraries } from "../../storage/runtimes/cuda.ts";
import { findLibraries, libraryIn } from "../../storage/runtimes/find-library.ts";
import { CUDA_SIZE, installCuda, OLDEST_CUDA } from "../../storage/runtimes/install-cuda.ts";
import { installOnnx } from "../../storage/runtimes/install-onnx.ts";
import { installPytorch } from "../../storage/runtimes/install-pytorch.ts";
import { type InstallSource, installRuntime } from "../../storage/runtimes/install-runtime.ts";
import {
  listFrameworks,
  listRuntimes,
  type RuntimeReport,
  toRuntimesTable,
} from "../../storage/runtimes/list-runtimes.ts";
import {
  CUDA,
  CUDA_PROVIDER,
  findRuntime,
  type NativeRuntime,
  onnx,
  onnxCuda,
  pytorch,
  titleOf,
} from "../../storage/runtimes/native-runtimes.ts";
import { runNpmInstaller } from "../../storage/runtimes/npm.ts";
import { type Probe, probeRuntime } from "../../storage/runtimes/probe.ts";
import { interpreterIn } from "../../storage/runtimes/python.ts";
import { createReporter, type Reporter } from "../../storage/runtimes/reporter.ts";
import { installedRuntimes, runtimesFolder } from "../../storage/runtimes/runtimes-folder.ts";
import { type Installation, removeRuntime } from "../../storage/runtimes/staging.ts";
import { asStarted } from "../error-text.ts";
import { untilInterrupted } from "../lifecycle/until-interrupted.ts";
import { toUsageError } from "../settings/parse-settings.ts";
import { refuseRepeats } from "../settings/refuse-repeats.ts";
import { createParser } from "./create-parser.ts";

const EPILOGUE = `
Examples:
  kserving runtimes list
  kserving runtimes install onnx
  kserving runtimes install onnx --device cuda
  kserving runtimes install openvino
  kserving runtimes install tensorflow --version 2.20.0
  kserving runtimes install tensorflow --path /opt/venv
  kserving runtimes install pytorch
  kserving runtimes remove openvino

Runtimes go to NAME/VERSION below KSERVING_RUNTIMES_DIR, or below the user's data folder.
`;

/** `kserving runtimes`: lists, installs and removes native runtimes. */
export async function runtimes(argv: readonly string[]): Promise<void> {
  if (argv.length === 0) {
    throw invalidArgument("A command is missing; expected list, install NAME or remove NAME.");
  }
  const command = createRuntimesCommand();
  try {
    await command.parseAsync(argv, { from: "user" });
  } catch (reason) {
    const named = command.commands.find((each) => each.name() === argv[0]);
    throw toUsageError(
      reason,
      named === undefined
        ? "kserving runtimes --help lists the commands"
        : `kserving runtimes ${named.name()} --help lists its arguments`,
    );
  }
}

/** The parser of `kserving runtimes`. */
export function createRuntimesCommand(): Command {
  const command = createParser("runtimes", {
    description: "Lists, installs and removes the runtimes of drivers.",
    epilogue: EPILOGUE,
  });
  command
    .command("list")
    .description("list installed runtimes and devices; * = used by a driver")
    .option("--json", "print JSON")
    .action(list);
  addInstall(command);
  command
    .command("remove <name> [version]")
    .description("delete an installed runtime")
    .option("--dir <dir>", "folder of runtimes (default: KSERVING_RUNTIMES_DIR, or in the user's data folder)")
    .action(remove);
  for (const each of command.commands) refuseRepeats(each, () => false);
  return command;
}

function addInstall(command: Command): void {
  command
    .command("install <name>")
    .description("install onnx, tensorflow, openvino, or pytorch (with Python)")
    .option("--version <version>", "version to install (default: the one that kserving is tested with)")
    .option("--dir <dir>", "folder of runtimes (default: KSERVING_RUNTIMES_DIR, or in the user's data folder)")
    .option("--wheel <file>", "install from this downloaded wheel")
    .option("--jar <file>", "install from this downloaded jar (tensorflow-core-native of Maven)")
    .option("--path <dir>", "use an existing installation, for example a Python environment, without copying it")
    .addOption(
      new Option("--from <source>", "downloader: kserving, pip, or the npm package").choices(["index", "pip", "npm"]),
    )
    .addOption(new Option("--device <device>", "onnx: what runs the models (default: cpu)").choices(["cpu", "cuda"]))
    .option("--force", "replace an installed version")
    .option("--yes", "accept several GB: CUDA's own libraries for onnx, a CUDA build of pytorch")
    .action(installCommand);
}

async function list({ json }: { readonly json?: boolean }): Promise<void> {
  const reports = await listRuntimes();
  console.log(json ? JSON.stringify(reports, null, 2) : asStarted(toRuntimesTable(reports)));
}

async function remove(name: string, version: string | undefined, flags: Pick<InstallFlags, "dir">): Promise<void> {
  const title = titleOf(name);
  const removed = await removeRuntime({ name, version, root: rootOf(flags) });
  const kept = removed.folder === removed.home ? "" : ` The libraries in ${removed.folder} stay.`;
  console.log(`${title} ${removed.version} is removed.${kept}`);
}

/** The flags of `kserving runtimes install`, as they were given. */
interface InstallFlags {
  readonly version?: string;
  readonly dir?: string;
  readonly wheel?: string;
  readonly jar?: string;
  readonly path?: string;
  readonly from?: "index" | "pip" | "npm";
  readonly device?: "cpu" | "cuda";
  readonly force?: boolean;
  readonly yes?: boolean;
}

const UNDONE = "nothing was installed";

/** `kserving runtimes install NAME`. Throws when the runtime is not there in the end, or does not load. */
async function installCommand(name: string, flags: InstallFlags): Promise<void> {
  // The other runtimes have libraries for all devices in one.
  if (flags.device !== undefined && name !== onnx.name)
    throw invalidArgument(`--device is for ${onnx.name} alone; leave it out.`);
  if (name === pytorch.name) return installFramework(flags);
  if (name === onnx.name && flags.device !== "cuda") return installPackage(flags);
  return installLibraries(name === onnx.name ? onnxCuda : findRuntime(name), flags);
}

/** The runtimes folder that a command works on. */
function rootOf({ dir }: Pick<InstallFlags, "dir">): string {
  return dir === undefined ? runtimesFolder() : resolve(dir);
}

async function installLibraries(runtime: NativeRuntime, flags: InstallFlags): Promise<void> {
  checkSources(flags);
  const reporter = createReporter(process.stderr);
  const byNpm = (signal: AbortSignal) => runNpmInstaller(runtime, { signal, reporter });
  const isByNpm = flags.from === "npm";
  const folder = isByNpm ? await untilInterrupted(byNpm, UNDONE) : await installOurselves(runtime, flags, reporter);
  if (runtime === onnxCuda) await completeCuda(folder, flags, reporter);
  const probe = await probeRuntime({ runtime: runtime.name, library: libraryIn(runtime, folder) ?? "" });
  tellProbe(runtime.title, probe);
}

/** At most one flag names a source; the npm package's installer knows none of the others. */
function checkSources({ wheel, jar, path, from, version, dir, force }: InstallFlags): void {
  const options = from === "npm" ? { version, dir, force } : {};
  const given = Object.entries({ from, wheel, jar, path, ...options }).filter(([, value]) => value !== undefined);
  if (given.length < 2) return;
  const flags = given.map(([flag]) => `--${flag}${flag === "from" ? ` ${from}` : ""}`).join(" and ");
  throw invalidArgument(`${flags} exclude each other; give one of them.`);
}

/** Installs, reports the progress, and returns the folder of the libraries. */
async function installOurselves(runtime: NativeRuntime, flags: InstallFlags, reporter: Reporter): Promise<string> {
  const options = { ...commonOf(flags), source: toSource(flags), reporter };
  const installed = await untilInterrupted((signal) => installRuntime(runtime, { ...options, signal }), UNDONE);
  const { folder } = installed.runtime;
  tellInstalled(runtime.title, installed);
  if (!isFound(options.root)) return folder;
  const [first] = findLibraries(runtime);
  if (first !== undefined && dirname(first.path) !== folder)
    console.log(`Drivers take another one before it, from ${first.source}: ${first.path}`);
  return folder;
}

function toSource({ wheel, jar, path, from }: InstallFlags): InstallSource {
  const archive = wheel ?? jar;
  if (archive !== undefined) return { kind: "archive", path: archive };
  if (path !== undefined) return { kind: "folder", path };
  return from === "index" || from === "pip" ? { kind: "wheel", from } : { kind: "wheel" };
}

/** Gets the libraries of CUDA that ONNX Runtime lacks if `--yes` is given; else prints their names. */
async function completeCuda(folder: string, flags: InstallFlags, reporter: Reporter): Promise<void> {
  const root = rootOf(flags);
  const cuda = cudaVersionOf(join(folder, CUDA_PROVIDER));
  if (cuda === undefined || installedRuntimes(CUDA, root).length > 0) return;
  const missing = loadCudaLibraries(cudaLibraries(cuda, { cudnn: true }));
  if (missing.length === 0) return;
  if (flags.yes !== true || cuda < OLDEST_CUDA) return console.log(lacking(cuda, missing));
  const run = (signal: AbortSignal) => installCuda({ cuda, root, reporter, signal });
  const { runtime } = await untilInterrupted(run, "CUDA's own libraries were not installed");
  console.log(`CUDA ${runtime.version} is installed: ${runtime.folder}`);
}

function lacking(cuda: number, missing: readonly string[]): string {
  const how = cuda < OLDEST_CUDA ? "NVIDIA's installer has them" : `--yes gets them too: ${CUDA_SIZE}`;
  return `CUDA ${cuda}'s own libraries are not found here: ${missing.join(", ")}. ${how}.`;
}

/** ONNX Runtime as npm's package, whose archives come from npm alone. */
async function installPackage(flags: InstallFlags): Promise<void> {
  refuseArchives(
    flags,
    `${onnx.title}, which npm downloads from its registry (npm config get registry); for a copy that is there use --path DIR.`,
  );
  const { path } = flags;
  if (path !== undefined && flags.version !== undefined)
    throw invalidArgument("--path and --version exclude each other; give one of them.");
  const options = { ...commonOf(flags), path, reporter: createReporter(process.stderr) };
  const installed = await untilInterrupted((signal) => installOnnx({ ...options, signal }), UNDONE);
  tellInstalled(onnx.title, installed);
  const library = join(installed.runtime.folder, "node_modules", onnx.package);
  tellProbe(onnx.title, await probeRuntime({ runtime: onnx.name, library }));
  if (!isFound(options.root)) return;
  const used = usedBefore(await listRuntimes(), onnx.name, library);
  if (used !== undefined) console.log(`The driver takes another one before it, from ${used.source}: ${used.path}`);
}

/** PyTorch with Python; pip resolves its dependencies too, for which a single file would not suffice. */
async function installFramework(flags: InstallFlags): Promise<void> {
  refuseArchives(
    flags,
    `${pytorch.title}, which pip installs with what it needs; for wheels at hand set PIP_FIND_LINKS=FOLDER and PIP_NO_INDEX=1.`,
  );
  const { path, yes = false } = flags;
  const options = { ...commonOf(flags), path, acceptsCuda: yes, reporter: createReporter(process.stderr) };
  const installed = await untilInterrupted((signal) => installPytorch({ ...options, signal }), UNDONE);
  tellInstalled(pytorch.title, installed);
  if (!isFound(options.root)) return;
  const interpreter = interpreterIn(installed.runtime.folder);
  const used = usedBefore(await listFrameworks(), pytorch.name, interpreter);
  if (used !== undefined)
    console.log(`Drivers take another one before it, unless -o python=${interpreter} says otherwise: ${used.path}`);
}

function refuseArchives({ wheel, jar, from }: InstallFlags, why: string): void {
  const [given] = Object.entries({ wheel, jar, from }).find(([, value]) => value !== undefined) ?? [];
  if (given !== undefined) throw invalidArgument(`--${given} is not for ${why}`);
}

function commonOf(flags: InstallFlags) {
  return { version: flags.version, root: rootOf(flags), force: flags.force ?? false };
}

function tellInstalled(title: string, { runtime, isNew }: Installation): void {
  const how = isNew ? "is installed" : "was installed before (--force installs it again)";
  console.log(`${title} ${runtime.version} ${how}: ${runtime.folder}`);
}

/** Checks that drivers look in a runtimes folder by themselves; prints how they find it if they do not. */
function isFound(root: string): boolean {
  if (root === runtimesFolder()) return true;
  console.log(`Drivers find it with KSERVING_RUNTIMES_DIR=${root}`);
  return false;
}

function tellProbe(title: string, probe: Probe): void {
  if (!probe.loads) throw failedPrecondition(`${title} is in place but does not load here: ${probe.reason}`);
  console.log(probe.lacks ?? `It loads here, with ${probe.devices.join(", ")}.`);
}

/** The installation that drivers use, if it is another one. */
function usedBefore(reports: readonly RuntimeReport[], name: string, path: string) {
  const used = reports.find((report) => report.name === name)?.found.find(({ isUsed }) => isUsed);
  return used?.path === undefined || used.path === path ? undefined : used;
}
