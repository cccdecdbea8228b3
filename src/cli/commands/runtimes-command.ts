import { type Command, Option } from "commander";
import { invalidArgument } from "../../errors.ts";
import { listRuntimes, toRuntimesTable } from "../../storage/runtimes/list-runtimes.ts";
import { titleOf } from "../../storage/runtimes/native-runtimes.ts";
import { removeRuntime } from "../../storage/runtimes/staging.ts";
import { asStarted } from "../error-text.ts";
import { toUsageError } from "../settings/parse-settings.ts";
import { refuseRepeats } from "../settings/refuse-repeats.ts";
import { createParser } from "./create-parser.ts";
import { type InstallFlags, installCommand, rootOf } from "./runtimes-install.ts";

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
