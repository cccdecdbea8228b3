import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import { failedPrecondition, invalidArgument, reasonText } from "../../errors.ts";
import { printable } from "../../platform/text/terminal.ts";
import { findKserveModels, type KserveWishes } from "../../serving/repository/formats/kserve.ts";
import { toExitCode } from "../exit-codes.ts";
import { endOnSignal } from "../lifecycle/shutdown.ts";
import type { Environment } from "../settings/environment.ts";
import type { FileSettings } from "../settings/read-file-settings.ts";
import { type ForeignFlags, flagList } from "./foreign-flag.ts";
import type { ForeignCommandLine, ForeignProgram } from "./foreign-program.ts";
import { KSERVE_FLAGS } from "./kserve-flags.ts";
import { type ReadFlags, readForeignFlags } from "./read-foreign-flags.ts";
import { settingOf, type Translation, translateFlags } from "./translate-flags.ts";

const FLAGS: ForeignFlags = KSERVE_FLAGS;

const EVERY_MS = 200;
/** Above the time in which a node pulls the image of a large model. */
const TIMEOUT_MS = 600_000;

/** `kserving kserve`: the server of a KServe runtime. */
export const KSERVE: ForeignProgram = { read, createReporter: () => ({}), fail };

async function read(argv: readonly string[], env: Environment): Promise<ForeignCommandLine | number> {
  if (argv.some((word) => word === "-h" || word === "--help")) {
    process.stdout.write(`usage: kserving kserve [--model_name NAME] [--model_dir DIR] ...\n\n${flagList(FLAGS)}`);
    return 0;
  }
  const flags = readForeignFlags(argv, FLAGS, { takesNextWord: true });
  assertComplete(flags);
  const { settings, fields, warnings } = translateFlags(flags.values, FLAGS);
  const { path = KSERVE_FLAGS.model_dir.default } = fields;
  await waitInTime(path, env);
  const { models, warnings: ofFolder } = await findKserveModels(path, toWanted(fields, env));
  return {
    settings,
    defaults: DEFAULTS,
    models,
    keepsFiles: true,
    warnings: [...warnings, ...unknownWarning(flags), ...ofFolder],
    notice: `as a runtime of KServe: the models of ${path}; pickles there are loaded, and run whatever code is in them`,
  };
}

function toWanted(fields: Translation["fields"], env: Environment): KserveWishes {
  const { name = KSERVE_FLAGS.model_name.default, driver, hooks } = fields;
  const keys = Array.from((env.KSERVING_OPTION ?? "").matchAll(/(?:^|,)\s*(\w+)=/g), ([, key = ""]) => key);
  return {
    name,
    ...(driver !== undefined && { driver }),
    ...(hooks !== undefined && { hooks: resolve(hooks) }),
    wantsProbabilities: /^true$/i.test(env.PREDICT_PROBA ?? ""),
    ownOptions: keys,
  };
}

const DEFAULTS: FileSettings = new Map(
  (
    [
      ["httpPort", KSERVE_FLAGS.http_port.default],
      ["port", KSERVE_FLAGS.grpc_port.default],
      ["kserveRoutes", "true"],
      ["failFast", "true"],
    ] as const
  ).map(([name, text]) => [name, settingOf(name, text, "KServe's default")]),
);

function assertComplete({ incomplete, misread }: ReadFlags): void {
  if (incomplete[0] !== undefined) throw invalidArgument(`--${incomplete[0]} lacks its value.`);
  const [wrong] = misread;
  if (wrong !== undefined) throw invalidArgument(`--${wrong.name} is "${wrong.value}"; expected a whole number.`);
}

/** KServe's servers take no notice of arguments that they do not know. */
function unknownWarning({ unknown }: ReadFlags): readonly string[] {
  if (unknown.length === 0) return [];
  const words = printable(unknown.join(" "));
  return [`${words}: kserving kserve takes no such argument; KSERVING_… variables set what else there is.`];
}

async function waitInTime(path: string, env: Environment): Promise<void> {
  if (env.MODEL_INIT_MODE !== "async") return;
  const releaseSignals = endOnSignal();
  await waitForModelcar(path).finally(releaseSignals);
}

/** Last on stderr, from where Kubernetes takes a container's termination message. */
function fail(reason: unknown): number {
  process.stderr.write(`kserving: ${printable(reasonText(reason))}\n`);
  return toExitCode(reason);
}

/**
 * Waits for a model's folder that another container of the pod links in after it has started. Throws
 * `failed_precondition` if it does not come in time.
 */
export async function waitForModelcar(path: string, timeoutMs = TIMEOUT_MS): Promise<void> {
  const endMs = performance.now() + timeoutMs;
  while (!(await isThere(path))) {
    if (performance.now() >= endMs)
      throw failedPrecondition(
        `${path} is not there after ${timeoutMs / 1000} seconds; expected the folder of a modelcar (MODEL_INIT_MODE=async).`,
      );
    await setTimeout(EVERY_MS);
  }
}

function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
