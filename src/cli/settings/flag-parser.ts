import { Command, Option } from "commander";
import { readVersion } from "../../version.ts";
import type { SettingsCommand } from "../command-names.ts";
import { refuseRepeats } from "./refuse-repeats.ts";
import type { Setting } from "./setting.ts";
import { flagOf, groupsOf, settingsOf } from "./settings.ts";

const DESCRIPTIONS: Readonly<Record<SettingsCommand, string>> = {
  serve: "Loads models, chains them with a hook file, and serves the chain over gRPC and HTTP.",
  proxy: "Serves HTTP for a gRPC server that runs elsewhere.",
};

const EPILOGUES: Readonly<Record<SettingsCommand, string>> = {
  serve: `
Examples:
  kserving --model-path emotion.onnx --http-enable
  kserving --driver onnx --model-path face.onnx --driver onnx --model-path emotion.onnx --hooks faces.ts
  kserving --driver null --hooks service.ts -o threshold=0.5
  kserving --model-repository models --http-enable

Commands:
  kserving [serve]  all of the above
  kserving proxy    HTTP for a gRPC server that runs elsewhere (kserving proxy --help)
  kserving replay   sends recorded requests again and compares the answers (kserving replay --help)
  kserving config   explains configuration files (kserving config --help)
  kserving hash-password, hash-token
                    write lines for --auth-users and --auth-tokens
  kserving runtimes finds and installs what drivers need (kserving runtimes --help)
  kserving tensorflow-model-server, ovms, ie_serving
                    take those servers' command lines (kserving ovms --help)
`,
  proxy: `
Example:
  kserving proxy --grpc-address models.internal:9000 --http-port 8080
`,
};

/** Width of help where standard output is not a terminal, in characters. */
const HELP_WIDTH = 110;

/** A flag that may be repeated, as it stood on the command line. */
export interface ListedFlag {
  readonly flag: string;
  readonly value: string;
}

/**
 * A command's parser, made from the table of settings. It prints help and version, and throws CommanderError instead of ending the process.
 * Values are left as text; every repeatable flag is also told to `onListed`, in the order in which they were given.
 */
export function createFlagParser(name: SettingsCommand, onListed: (flag: ListedFlag) => void): Command {
  const command = new Command(name === "serve" ? "kserving" : `kserving ${name}`)
    .usage(name === "serve" ? "[serve] [flags]" : "[flags]")
    .description(DESCRIPTIONS[name])
    .addHelpText(
      "after",
      `\nEvery flag is also an environment variable: --http-port is KSERVING_HTTP_PORT.\n${EPILOGUES[name]}`,
    )
    .configureHelp({ optionDescription: (option) => option.description })
    .allowExcessArguments()
    .configureOutput({ outputError: () => {}, getOutHelpWidth: () => process.stdout.columns ?? HELP_WIDTH })
    .exitOverride();
  for (const group of groupsOf(name)) {
    for (const [key, setting] of settingsOf(name, group))
      command.addOption(toOption(flagOf(key), setting, onListed).helpGroup(`${group}:`));
  }
  command
    .optionsGroup("Other:")
    .version(readVersion(), "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help");
  const lists = settingsOf(name)
    .filter(([, { type }]) => type === "list")
    .map(([key]) => flagOf(key));
  refuseRepeats(command, ({ long }) => lists.includes(long ?? ""));
  return command;
}

function toOption(flag: string, setting: Setting, onListed: (flag: ListedFlag) => void): Option {
  const { type, short, placeholder } = setting;
  const flags = short === undefined ? flag : `${short}, ${flag}`;
  // A value is optional for booleans, so that --http-enable=false can overrule the environment.
  if (type === "boolean") return new Option(`${flags} [BOOL]`, describe(setting)).preset("true");
  if (type === "choice" && setting.bare !== undefined) {
    return new Option(`${flags} ${placeholder}`, describe(setting)).preset(setting.bare);
  }
  const option = new Option(`${flags} <${placeholder}>`, describe(setting));
  if (type !== "list") return option;
  return option.argParser((value: string, earlier: readonly string[] = []) => {
    onListed({ flag: flag.slice(2), value });
    return [...earlier, value];
  });
}

function describe(setting: Setting): string {
  const choices = setting.type === "choice" ? `: ${setting.choices.join(", ")}` : "";
  const isTold = "default" in setting && setting.type !== "boolean" && setting.default !== undefined;
  return `${setting.help}${choices}${isTold ? ` (default: ${setting.default})` : ""}`;
}
