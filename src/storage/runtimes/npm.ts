import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir } from "node:fs/promises";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import { failedPrecondition, invalidArgument, reasonText, ServingError } from "../../errors.ts";
import { npmInstall } from "../../npm-install.ts";
import { libraryIn, npmFolders } from "./find-library.ts";
import type { NativeRuntime, NpmCarrier } from "./native-runtimes.ts";
import type { Reporter } from "./reporter.ts";
import { runProgram } from "./run-program.ts";

/** Options of a download by npm. */
interface NpmPackOptions {
  /** Gets the archive; must not exist. */
  readonly folder: string;
  readonly signal: AbortSignal;
}

/**
 * Lets npm download one package's archive, with the user's own registry, passwords, proxies and certificates, and
 * compare it with what the registry states, or pack the folder of a package; no script is run. Returns the archive's
 * path. Throws `unavailable` with what npm says, `failed_precondition` if there is no npm.
 */
export async function npmPack(spec: string, { folder, signal }: NpmPackOptions): Promise<string> {
  await mkdir(folder);
  const args = ["pack", spec, "--ignore-scripts", "--loglevel=error", "--pack-destination", folder];
  const { code, stderr } = await runProgram([...npmCommand(), ...args], { signal }).catch((cause) => {
    signal.throwIfAborted();
    throw noNpm(cause);
  });
  const [archive] = (await readdir(folder)).filter((name) => name.endsWith(".tgz"));
  if (code === 0 && archive !== undefined) return join(folder, archive);
  throw npmFailed(spec, stderr);
}

/** On Windows npm is a shell script with its program next to it. */
function npmCommand(): readonly string[] {
  if (process.platform !== "win32") return ["npm"];
  return [process.execPath, join(dirname(process.execPath), "node_modules", "npm", "bin", "npm-cli.js")];
}

function noNpm(cause: unknown): ServingError {
  const message = `npm does not start (${reasonText(cause)}), which downloads this runtime; expected it next to Node. Install it, or copy the folder of the runtime from the runtimes folder of a machine of the same kind.`;
  return failedPrecondition(message, cause);
}

function npmFailed(spec: string, stderr: string): ServingError {
  const message = isAbsolute(spec)
    ? `npm could not pack ${spec}: ${npmErrorText(stderr)}.`
    : `npm could not download ${spec}: ${npmErrorText(stderr)}. npm config get registry tells which registry it asks; npm_config_registry=URL chooses another.`;
  return new ServingError("unavailable", message, { cause: new Error(stderr) });
}

/** npm's error: its code and first sentence, without the prefix of each line. */
function npmErrorText(stderr: string): string {
  const lines = stderr.split(/\r?\n/).flatMap((line) => /^npm (?:error|ERR!) (.*)$/.exec(line)?.[1]?.trim() ?? []);
  const [, code] = /^code (\S+)$/m.exec(lines.join("\n")) ?? [];
  const sentence = lines.find((line) => line !== "" && !FIELD.test(line))?.replace(/^(network|notarget|404) /, "");
  const told = [code, sentence].filter((text) => text !== undefined);
  return (told.join(": ") || stderr.trim().split("\n").at(-1) || "it says nothing").replace(/\.$/, "");
}

/** Lines that give one field of an error. */
const FIELD = /^(code|syscall|errno|type|path|dest) |^A complete log/;

/**
 * Runs the installer of the npm package that carries a runtime, which downloads from wherever its makers have put it,
 * and returns the folder of the libraries. Throws `failed_precondition` if there is no such package, and
 * `unavailable` if its installer leaves no libraries.
 */
export async function runNpmInstaller(
  runtime: NativeRuntime,
  { signal, reporter }: { readonly signal: AbortSignal; readonly reporter: Reporter },
): Promise<string> {
  const { npm, title, name } = runtime;
  if (npm === undefined) throw invalidArgument(`No npm package carries ${title}; leave out --from.`);
  const root = findPackage(npm);
  const folder = join(root, npm.folder);
  reporter.step(
    `Running the installer of ${npm.package}, which downloads its own version of ${title} into its package`,
  );
  const code = await runInstaller(join(root, npm.installer), { root, signal });
  if (libraryIn(runtime, folder) !== undefined) return folder;
  const message = `The installer of ${npm.package} ended with ${code} and left no libraries; what it says is above. kserving runtimes install ${name} without --from npm takes them from a Python wheel.`;
  throw new ServingError("unavailable", message);
}

function findPackage({ package: name }: NpmCarrier): string {
  const [root] = npmFolders(name, "");
  if (root !== undefined) return root;
  throw failedPrecondition(`The npm package ${name} is not installed; run: ${npmInstall(`${name} --ignore-scripts`)}`);
}

/** As npm does it: in the package's folder, with the commands of its dependencies at hand. */
async function runInstaller(
  program: string,
  { root, signal }: { readonly root: string; readonly signal: AbortSignal },
) {
  const commands = join(root.slice(0, root.lastIndexOf("node_modules")), "node_modules", ".bin");
  const env = { ...process.env, PATH: `${commands}${delimiter}${process.env.PATH ?? ""}` };
  const child = spawn(process.execPath, [program], { cwd: root, env, signal, stdio: ["ignore", 2, 2] });
  const [code, ended] = await once(child, "close");
  return code ?? ended;
}
