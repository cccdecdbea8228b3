import type { Command } from "commander";
import { TlsFiles } from "../../access/tls-files.ts";
import { failedPrecondition, reasonText } from "../../errors.ts";
import { maskSecrets } from "../../platform/text/mask-secrets.ts";
import { printable, toColumns } from "../../platform/text/terminal.ts";
import { probePort } from "../addresses/probe-port.ts";
import { checkMachine, checkPackages, checkRuntimes, type Finding } from "../doctor/check-machine.ts";
import { withProgress } from "../live-line.ts";
import { type Environment, misspeltVariables } from "../settings/environment.ts";
import { readServeSettings } from "../settings/read-serve-settings.ts";
import { flagOf, type SettingName, type Settings } from "../settings/settings.ts";
import { createParser, runParser } from "./create-parser.ts";
import { toTlsPaths } from "./tls-options.ts";

const EPILOGUE = `
Examples:
  kserving doctor
  kserving doctor --config serving.yaml --http-port 8080
  kserving doctor --json

With flags of kserving serve it looks at what they say. The exit code is 1 where there is a problem; warnings do not count.
`;

const MARKS = { ok: "ok", warning: "warning", problem: "PROBLEM" } as const;

/**
 * `kserving doctor`: the problems of this machine, each with the command that mends it.
 * Throws `failed_precondition` if there is one.
 */
export async function doctor(argv: readonly string[], env: Environment): Promise<void> {
  const command: Command = createDoctorCommand().action((flags: readonly string[], { json = false }) =>
    run(flags, json, env),
  );
  await runParser(command, argv);
}

/** The parser of `kserving doctor`. */
export function createDoctorCommand(): Command {
  return createParser("doctor", {
    description: "Looks at this machine, the runtimes and the settings: what is wrong, and the command that mends it.",
    epilogue: EPILOGUE,
  })
    .argument("[flags...]", "flags of kserving serve")
    .allowUnknownOption()
    .option("--json", "print JSON");
}

async function run(flags: readonly string[], json: boolean, env: Environment): Promise<void> {
  const checks = [checkMachine(), checkPackages(), checkRuntimes(), checkSettings(flags, env)];
  const findings = (await withProgress("looking at runtimes", () => Promise.all(checks))).flat();
  const text = json ? JSON.stringify(findings, null, 2) : toLines(findings).join("\n");
  console.log(printable(maskSecrets(text)));
  const problems = findings.filter(({ state }) => state === "problem").length;
  if (problems > 0)
    throw failedPrecondition(
      `${problems === 1 ? "1 problem is" : `${problems} problems are`} listed above, with what to do.`,
    );
}

function toLines(findings: readonly Finding[]): string[] {
  const lines = toColumns(
    findings.map(({ state, check, text }) => [MARKS[state], check, text.replace(/\s*\n\s*/g, " ")]),
  );
  return findings.flatMap(({ fix }, index) => [
    lines[index] as string,
    ...(fix === undefined ? [] : [`         → ${fix}`]),
  ]);
}

/** Reads the settings as `kserving serve` would, with its files, and looks at ports and certificates that they name. */
export async function checkSettings(flags: readonly string[], env: Environment): Promise<readonly Finding[]> {
  const variables = misspeltVariables(env).map((text) => ({ check: "Variables", state: "warning", text }) as const);
  try {
    const { settings, origins } = await readServeSettings(flags, env);
    const given = [...origins].map(([name, origin]) =>
      origin === flagOf(name) ? origin : `${flagOf(name)} by ${origin}`,
    );
    const text = given.length === 0 ? "all settings have their defaults" : given.join(", ");
    const ports = await Promise.all(portsOf(settings).map((port) => checkPort(settings, port)));
    return [{ check: "Settings", state: "ok", text }, ...variables, ...ports, ...(await checkCertificate(settings))];
  } catch (reason) {
    const fix = "kserving config check FILE and kserving --help say what is expected";
    return [{ check: "Settings", state: "problem", text: reasonText(reason), fix }, ...variables];
  }
}

type PortName = Extract<SettingName, "port" | "httpPort">;

/** The ports that the server would listen on: one if gRPC and HTTP share it. */
function portsOf({ grpcSocketOnly, httpEnable, port, httpPort }: Settings<"serve">): readonly PortName[] {
  const isShared = !grpcSocketOnly && port === httpPort && port !== 0;
  return [...(grpcSocketOnly ? [] : ["port" as const]), ...(httpEnable && !isShared ? ["httpPort" as const] : [])];
}

async function checkPort(settings: Settings<"serve">, name: PortName): Promise<Finding> {
  const check = name === "port" ? "gRPC port" : "HTTP port";
  try {
    const port = await probePort(settings.host, settings[name], name);
    return { check, state: "ok", text: `${port} of ${settings.host} is free` };
  } catch (reason) {
    return {
      check,
      state: "problem",
      text: reasonText(reason),
      fix: `${flagOf(name)} 0 takes a free one; ss -ltnp shows who has it`,
    };
  }
}

/** Reads the files as a server does at its start. */
async function checkCertificate(settings: Settings<"serve">): Promise<Finding[]> {
  const check = "Certificate";
  try {
    const paths = toTlsPaths(settings);
    if (paths === undefined) return [];
    const files = await TlsFiles.open(paths);
    const { subject, validTo } = files.certificate;
    const { isSoon = false, text } = files.validityProblem() ?? {};
    if (text === undefined)
      return [{ check, state: "ok", text: `${subject.replaceAll("\n", ", ")} is valid until ${validTo}` }];
    return [{ check, state: isSoon ? "warning" : "problem", text, fix: `renew ${paths.cert}` }];
  } catch (reason) {
    return [{ check, state: "problem", text: reasonText(reason), fix: "kserving --help says what is expected" }];
  }
}
