import { invalidArgument } from "../../errors.ts";
import { installPytorch } from "../../runtimes/install-pytorch.ts";
import { listFrameworks } from "../../runtimes/list-runtimes.ts";
import { pytorch } from "../../runtimes/native-runtimes.ts";
import { interpreterIn } from "../../runtimes/python.ts";
import { createReporter } from "../../runtimes/reporter.ts";
import { runtimesFolder } from "../../runtimes/runtimes-folder.ts";
import { untilInterrupted } from "../lifecycle/until-interrupted.ts";
import type { InstallFlags } from "./install-flags.ts";

/** `kserving runtimes install pytorch`, into a runtimes folder. */
export async function installPytorchCommand(flags: InstallFlags, root: string): Promise<void> {
  const { version, path, force = false, yes = false } = flags;
  checkFlags(flags);
  const reporter = createReporter(process.stderr);
  const options = { version, path, root, force, acceptsCuda: yes, reporter };
  const run = (signal: AbortSignal) => installPytorch({ ...options, signal });
  const { runtime, isNew } = await untilInterrupted(run, "nothing was installed");
  const how = isNew ? "is installed" : "was installed before (--force installs it again)";
  console.log(`${pytorch.title} ${runtime.version} ${how}: ${runtime.folder}`);
  if (root !== runtimesFolder()) return console.log(`Drivers find it with KSERVING_RUNTIMES_DIR=${root}`);
  await tellWhatComesBefore(interpreterIn(runtime.folder));
}

/** pip resolves torch's dependencies too; a single file would not suffice. */
function checkFlags({ wheel, jar, from }: InstallFlags): void {
  const [given] = Object.entries({ wheel, jar, from }).find(([, value]) => value !== undefined) ?? [];
  if (given === undefined) return;
  const message = `--${given} is not for ${pytorch.title}, which pip installs with what it needs; for wheels at hand set PIP_FIND_LINKS=FOLDER and PIP_NO_INDEX=1.`;
  throw invalidArgument(message);
}

async function tellWhatComesBefore(interpreter: string): Promise<void> {
  const { found } = (await listFrameworks()).find(({ name }) => name === pytorch.name) ?? { found: [] };
  const used = found.find(({ isUsed }) => isUsed);
  if (used?.path === undefined || used.path === interpreter) return;
  console.log(`Drivers take another one before it, unless -o python=${interpreter} says otherwise: ${used.path}`);
}
