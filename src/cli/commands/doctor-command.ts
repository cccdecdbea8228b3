import type { Command } from "commander";
import { failedPrecondition } from "../../errors.ts";
import { toColumns } from "../../text/columns.ts";
import { maskSecrets } from "../../text/mask-secrets.ts";
import { printable } from "../../text/printable.ts";
import { checkMachine } from "../doctor/check-machine.ts";
import { checkPackages } from "../doctor/check-packages.ts";
import { checkRuntimes } from "../doctor/check-runtimes.ts";
import { checkSettings } from "../doctor/check-settings.ts";
import type { Finding } from "../doctor/finding.ts";
import type { Environment } from "../settings/environment.ts";
import { createParser, runParser } from "./create-parser.ts";
import { withProgress } from "./progress.ts";

const EPILOGUE = `
Examples:
  kserving doctor
  kserving doctor --config serving.yaml --http-port 8080
  kserving doctor --json

With flags of kserving serve it looks at what they say. The exit code is 1 where there is a problem; warnings do not count.
`;

const MARKS = { ok: "ok", warning: "warning", problem: "PROBLEM" } as const;

/**
 * `kserving doctor`: what is wrong on this machine, and the command that mends it.
 * Throws `failed_precondition` where something is.
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
