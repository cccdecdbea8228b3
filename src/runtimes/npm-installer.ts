import { spawn } from "node:child_process";
import { once } from "node:events";
import { delimiter, join } from "node:path";
import { failedPrecondition, invalidArgument, ServingError } from "../errors.ts";
import { npmInstall } from "../npm-install.ts";
import { libraryIn } from "./library-folder.ts";
import { npmFolders } from "./library-places.ts";
import type { NativeRuntime, NpmCarrier } from "./native-runtime.ts";
import type { Reporter } from "./reporter.ts";

/**
 * Runs the installer of the npm package that carries a runtime, which downloads from wherever its makers have put it,
 * and returns the folder of the libraries. Throws `failed_precondition` where there is no such package, and
 * `unavailable` where its installer leaves no libraries.
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
  const code = await runProgram(join(root, npm.installer), { root, signal });
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
async function runProgram(program: string, { root, signal }: { readonly root: string; readonly signal: AbortSignal }) {
  const commands = join(root.slice(0, root.lastIndexOf("node_modules")), "node_modules", ".bin");
  const env = { ...process.env, PATH: `${commands}${delimiter}${process.env.PATH ?? ""}` };
  const child = spawn(process.execPath, [program], { cwd: root, env, signal, stdio: ["ignore", 2, 2] });
  const [code, ended] = await once(child, "close");
  return code ?? ended;
}
