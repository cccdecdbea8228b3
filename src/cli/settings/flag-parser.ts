import { Command, Option } from "commander";
import type { Setting, SettingsCommand } from "../../platform/limits/settings/setting.ts";
import { sizeText } from "../../platform/text/size-text.ts";
import { toColumns } from "../../platform/text/terminal.ts";
import { readVersion } from "../../version.ts";
import { COMMANDS, FOREIGN_COMMAND_NAMES } from "../command-names.ts";
import { helpWidth } from "../help-width.ts";
import { splitList } from "./read-setting.ts";
import { refuseRepeats } from "./refuse-repeats.ts";
import { flagOf, groupsOf, settingsOf, writtenValue } from "./settings.ts";

const DESCRIPTIONS: Readonly<Record<SettingsCommand, string>> = {
  serve: "load models, chain them with a hook file, and serve the chain over gRPC and HTTP",
  proxy: "serve HTTP for a gRPC server that runs elsewhere",
};

/** A line of help for each command. */
function commandLines(): string {
  const own = { "[serve]": "serve models, with the flags above", proxy: DESCRIPTIONS.proxy, ...COMMANDS };
  const rows = Object.entries(own).map(([name, text]) => [`  ${name}`, text]);
  const foreign = `  ${FOREIGN_COMMAND_NAMES.join(", ")}`;
  return [...toColumns(rows), foreign, "    serve with those servers' flags"].join("\n");
}

const EPILOGUES: Readonly<Record<SettingsCommand, string>> = {
  serve: `
Examples:
  kserving emotion.onnx
  kserving emotion.onnx faces.ts --http-port 8080
  kserving --driver onnx --model-path face.onnx --driver onnx --model-path emotion.onnx --hooks faces.ts
  kserving --driver null --hooks service.ts -o threshold=0.5
  kserving models

Commands:
${commandLines()}

kserving COMMAND --help, such as kserving proxy --help, says more about one.
`,
  proxy: `
Example:
  kserving proxy --grpc-address models.internal:9000 --http-port 8080
`,
};

/** A repeatable flag of the command line. */
export interface ListedFlag {
  readonly flag: string;
  readonly value: string;
}

/**
 * Creates a command's parser from the table of settings. It prints help and version, and throws CommanderError instead
 * of ending the process. Values stay texts; `onListed` is called with each repeatable flag, in the given order.
 */
export function createFlagParser(name: SettingsCommand, onListed: (flag: ListedFlag) => void): Command {
  const command = new Command(name === "serve" ? "kserving" : `kserving ${name}`)
    .usage(name === "serve" ? "[serve] [PATH...] [flags]" : "[flags]")
    .description(`${DESCRIPTIONS[name].charAt(0).toUpperCase()}${DESCRIPTIONS[name].slice(1)}.`)
    .addHelpText(
      "after",
      `\nEvery flag is also an environment variable: --http-port is KSERVING_HTTP_PORT.\n${EPILOGUES[name]}`,
    )
    .configureHelp({ optionDescription: (option) => option.description })
    .allowExcessArguments()
    .configureOutput({ outputError: () => {}, getOutHelpWidth: helpWidth })
    .exitOverride();
  for (const group of groupsOf(name)) {
    for (const [key, setting] of settingsOf(name, group))
      command.addOption(toOption(flagOf(key), setting, onListed).helpGroup(`${group}:`));
    for (const [key, setting] of settingsOf(name, group)) {
      if (setting.type === "boolean" && setting.default)
        command.addOption(new Option(flagOf(key).replace("--", "--no-")).hideHelp());
    }
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
  return option.argParser((text: string, earlier: readonly string[] = []) => {
    const values = setting.isSplit ? splitList(text, setting.separator) : [text];
    for (const value of values) onListed({ flag: flag.slice(2), value });
    return [...earlier, ...values];
  });
}

function describe(setting: Setting): string {
  const choices = setting.type === "choice" ? `: ${setting.choices.join(", ")}` : "";
  const value = defaultText(setting);
  return `${setting.help}${choices}${value === undefined ? "" : ` (default: ${value})`}`;
}

/** A size has its unit; a flag that is off unless it is given has no default. */
function defaultText(setting: Setting): string | undefined {
  if (!("default" in setting) || setting.default === undefined || setting.default === false) return undefined;
  return setting.type === "bytes" && setting.default > 0
    ? sizeText(setting.default).replace(" ", "")
    : `${writtenValue(setting, setting.default)}`;
}
