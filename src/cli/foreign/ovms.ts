import { statSync } from "node:fs";
import { join } from "node:path";
import { reasonText, ServingError } from "../../errors.ts";
import { printable } from "../../text/printable.ts";
import { readVersion } from "../../version.ts";
import type { FileSettings } from "../settings/read-file-settings.ts";
import { checkOvmsFlags } from "./check-ovms-flags.ts";
import { flagList } from "./flag-list.ts";
import type { ForeignCommandLine, ForeignProgram } from "./foreign-program.ts";
import { OVMS_FLAGS } from "./openvino-flags.ts";
import { createOvmsReporter, openvinoLog } from "./openvino-log.ts";
import { toOpenvinoModel } from "./openvino-model.ts";
import { type ReadFlags, readForeignFlags } from "./read-foreign-flags.ts";
import { assertTaken, settingOf, translateFlags } from "./translate-flags.ts";

/** Exit code of `ovms` for a command line that makes no sense. */
const USAGE = 64;

/** `kserving ovms`, also `ovms`. */
export const OVMS: ForeignProgram = { read, createReporter: createOvmsReporter, fail };

/** Settings as OpenVINO Model Server has them where nothing is said. */
export const OPENVINO_DEFAULTS: FileSettings = new Map([
  ["allowControl", settingOf("allowControl", "local", "ovms's default")],
  ["logFormat", settingOf("logFormat", "text", "ovms's default")],
  ["openvinoMetadata", settingOf("openvinoMetadata", "true", "ovms's default")],
  ["ignoreUnknownOutputs", settingOf("ignoreUnknownOutputs", "true", "ovms's default")],
]);

/** The policy of OpenVINO Model Server that its clients rely on. */
export const OPENVINO_NOTICE =
  "as OpenVINO Model Server: programs on this machine may send POST /v1/config/reload (KSERVING_ALLOW_CONTROL says otherwise)";

async function read(argv: readonly string[]): Promise<ForeignCommandLine | number> {
  const flags = readForeignFlags(argv, OVMS_FLAGS, { takesNextWord: true });
  const problem = problemOf(flags);
  if (problem !== undefined) {
    process.stderr.write(`error parsing options${problem}\n`);
    return USAGE;
  }
  const { values } = flags;
  if (values.get("version") === "true") return print(`OpenVINO Model Server: kserving ${readVersion()}\n`);
  if (values.get("help") === "true" || argv.length === 0)
    return print(`OpenVINO Model Server\nUsage:\n  ovms [OPTION...]\n\n${flagList(OVMS_FLAGS)}`);
  // First: the checks would ask for flags that these do without.
  assertTaken(values, OVMS_FLAGS);
  const host = checkOvmsFlags(values);
  const { settings, options, fields, warnings } = translateFlags(withConfigFile(values), OVMS_FLAGS);
  if (host !== undefined) settings.set("host", settingOf("host", host, "--grpc_bind_address"));
  const httpPort = settings.get("httpPort");
  // Without a gRPC flag, gRPC has no port of its own.
  if (!settings.has("port") && httpPort !== undefined) settings.set("port", httpPort);
  const given = Object.entries(options).map(([key, text]) => `${key}=${text}`);
  if (given.length > 0) settings.set("option", { value: given, origin: "the command line" });
  const models = settings.has("config") ? [] : toOpenvinoModel(fields);
  return { settings, defaults: OPENVINO_DEFAULTS, models, keepsFiles: false, warnings, notice: OPENVINO_NOTICE };
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}

/** In the words of the parser that it uses. */
function problemOf({ unknown, incomplete, misread }: ReadFlags): string | undefined {
  if (incomplete[0] !== undefined) return `: Option ‘${incomplete[0]}’ is missing an argument`;
  if (misread[0] !== undefined) return `: Argument ‘${misread[0].value}’ failed to parse`;
  return unknown.length === 0 ? undefined : ` - unmatched arguments: ${unknown.map((word) => `${word}, `).join("")}`;
}

/** The path of a folder means the config.json in it. */
function withConfigFile(values: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const path = values.get("config_path") ?? "";
  const isFolder = path !== "" && statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  return isFolder ? new Map([...values, ["config_path", join(path, "config.json")]]) : values;
}

function fail(reason: unknown): number {
  const text = printable(reasonText(reason));
  if (reason instanceof ServingError && reason.code === "invalid_argument") {
    process.stderr.write(`${text}\n`);
    return USAGE;
  }
  openvinoLog("error", text);
  return 1;
}
