import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { RawOptions } from "../../drivers/option-table.ts";
import { findDriver } from "../../drivers/registry.ts";
import { failedPrecondition, invalidArgument, reasonText, ServingError } from "../../errors.ts";
import { printable } from "../../platform/text/terminal.ts";
import { type ModelConfig, modelConfig } from "../../serving/repository/config/model-config.ts";
import { locateModel } from "../../serving/repository/folders/find-model.ts";
import { listModels, type ModelList } from "../../serving/repository/folders/list-models.ts";
import { listVersions } from "../../serving/repository/folders/list-versions.ts";
import {
  type FolderModel,
  hasTritonConfig,
  readTritonConfig,
} from "../../serving/repository/folders/read-triton-config.ts";
import { isRemoteAddress } from "../../storage/remote-address.ts";
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

/** The words of a KServe command line about the model in its folder. */
export interface KserveWishes {
  /** Name of the model, if there is one. */
  readonly name: string;
  /** Absent = by the files in the folder. */
  readonly driver?: string;
  /** The hook file's absolute path. */
  readonly hooks?: string;
  /** True if scikit-learn's probabilities are asked for in place of its classes. */
  readonly wantsProbabilities: boolean;
  /** Keys of `-o` options that the user gives, which are left alone. */
  readonly ownOptions: readonly string[];
}

/**
 * Finds what a folder of KServe holds, which never says of which format: one model or folders of its versions, under
 * the name that is asked for, else a folder for each of several models. Throws `failed_precondition` if it has none.
 */
export async function findKserveModels(path: string, wishes: KserveWishes): Promise<ModelList> {
  if (isRemoteAddress(path)) return { models: [modelConfig({ path, ...ofWishes(wishes) })], warnings: [] };
  const folder = resolve(path);
  const { models, warnings } = (await findOne(folder, wishes)) ?? (await listModels(folder));
  return { models: await Promise.all(models.map((model) => withOptions(model, wishes))), warnings };
}

function ofWishes({ name, driver, hooks }: KserveWishes) {
  return { name, ...(driver !== undefined && { driver }), ...(hooks !== undefined && { hooks }) };
}

/** The only model of a folder; undefined for a folder that may hold folders of models instead. */
async function findOne(path: string, wishes: KserveWishes): Promise<ModelList | undefined> {
  if (await hasTritonConfig(path)) return withName(await readTritonConfig(path, true), wishes);
  try {
    await listVersions(path, wishes.driver);
    return { models: [modelConfig({ path, ...ofWishes(wishes) })], warnings: [] };
  } catch (reason) {
    if (reason instanceof ServingError && reason.code === "not_found") return undefined;
    throw reason;
  }
}

function withName({ config, warnings }: FolderModel, wishes: KserveWishes): ModelList {
  return { models: [{ ...config, ...ofWishes(wishes) }], warnings };
}

/** Options that KServe's own servers have built in, for a model whose driver takes them. */
async function withOptions(model: ModelConfig, wishes: KserveWishes): Promise<ModelConfig> {
  const driver = await driverOf(model);
  if (driver === undefined) return model;
  const { options: table } = (await findDriver(driver)).driver;
  const outputs = wishes.wantsProbabilities ? "predict_proba" : "predict";
  const builtIn: RawOptions = {
    ...("allow_pickle" in table && { allow_pickle: "true" }),
    ...(driver === "sklearn" && { outputs }),
  };
  const entries = Object.entries(builtIn).filter(([key]) => !wishes.ownOptions.includes(key));
  return { ...model, options: { ...Object.fromEntries(entries), ...model.options } };
}

/** Of a model that cannot be found the driver is told later, with the reason. */
async function driverOf({ path, stages, refusal, ...rest }: ModelConfig): Promise<string | undefined> {
  if (path === undefined || stages !== undefined || refusal !== undefined) return undefined;
  const { versions } = await listVersions(path, rest.driver);
  return (await locateModel(versions.at(-1)?.path ?? path, rest)).driver;
}
