import { existsSync } from "node:fs";
import { invalidArgument, reasonText } from "../../errors.ts";
import { printable } from "../../platform/text/terminal.ts";
import { findSagemakerModels } from "../../serving/repository/formats/sagemaker.ts";
import { toPlace } from "../../storage/remote-address.ts";
import type { Environment } from "../settings/environment.ts";
import type { FileSettings } from "../settings/read-file-settings.ts";
import type { ForeignCommandLine, ForeignProgram } from "./foreign-program.ts";
import { settingOf } from "./translate-flags.ts";

const MODEL_FOLDER = "/opt/ml/model";
/** Folder below which the platform puts the models of a multi-model endpoint. */
const MODELS_FOLDER = "/opt/ml/models";
/** Ports that SageMaker's own container has: the platform's, and gRPC's inside. */
const HTTP_PORT = "8080";
const GRPC_PORT = "9000";
const MAX_BATCH_SIZE = "8";
const BATCH_TIMEOUT_US = "1000";
/** Our own settings that describe models. */
const MODEL_VARIABLES = ["DRIVER", "MODEL_PATH", "MODEL", "MODEL_REPOSITORY", "CONFIG", "HOOKS"];

/** `kserving serve` as SageMaker starts a container. */
export const SAGEMAKER: ForeignProgram = {
  read,
  createReporter: () => ({}),
  fail: (reason) => {
    process.stderr.write(`kserving: ${printable(reasonText(reason))}\n`);
    return 1;
  },
};

/**
 * Checks if `serve` alone is SageMaker's: its folder or one of its variables is there, and no setting describes models.
 */
export function isSagemakerStart(env: Environment): boolean {
  if (MODEL_VARIABLES.some((name) => env[`KSERVING_${name}`] !== undefined)) return false;
  return Object.keys(env).some((name) => name.startsWith("SAGEMAKER_")) || existsSync(MODEL_FOLDER);
}

const DEFAULTS: FileSettings = new Map(
  (
    [
      ["httpPort", HTTP_PORT],
      ["port", GRPC_PORT],
      ["failFast", "true"],
    ] as const
  ).map(([name, text]) => [name, settingOf(name, text, "SageMaker's default")]),
);

async function read(_argv: readonly string[], env: Environment): Promise<ForeignCommandLine> {
  if (isTrue(env, "SAGEMAKER_MULTI_MODEL")) return multiModel(env);
  const folder = toPlace(env.SM_MODEL_DIR || MODEL_FOLDER);
  return {
    settings: toSettings(env),
    defaults: DEFAULTS,
    models: await findSagemakerModels(folder, env.SAGEMAKER_TFS_DEFAULT_MODEL_NAME, programOf(env)),
    keepsFiles: true,
    warnings: [],
    notice: `as a container of SageMaker: the models of ${folder}, at /ping and /invocations`,
  };
}

/** Begins without a model: the platform loads those that are asked for. */
function multiModel(env: Environment): ForeignCommandLine {
  const path = toPlace(env.SM_MODEL_DIR || MODELS_FOLDER);
  return {
    settings: toSettings(env),
    defaults: DEFAULTS,
    models: [],
    platform: { named: MODELS_FOLDER, path, program: programOf(env) },
    keepsFiles: true,
    warnings: [],
    notice: `as a container of SageMaker for many models: those of ${path} that POST /models names, for all clients`,
  };
}

/** The file of handlers; an empty variable counts as absent. */
function programOf({ SAGEMAKER_PROGRAM: program }: Environment): string | undefined {
  return program || undefined;
}

function isTrue(env: Environment, name: string): boolean {
  const { [name]: text = "false" } = env;
  if (/^(?:true|false)$/i.test(text)) return text.toLowerCase() === "true";
  throw invalidArgument(`${name} is "${text}"; expected true or false.`);
}

function toSettings(env: Environment): FileSettings {
  const set = (name: Parameters<typeof settingOf>[0], text: string, origin: string) =>
    [name, settingOf(name, text, origin)] as const;
  const { SAGEMAKER_BIND_TO_PORT: port, SAGEMAKER_TFS_INSTANCE_COUNT: instances } = env;
  return new Map([
    ...(port === undefined ? [] : [set("httpPort", port, "SAGEMAKER_BIND_TO_PORT")]),
    ...(instances === undefined ? [] : [set("instances", instances, "SAGEMAKER_TFS_INSTANCE_COUNT")]),
    ...batching(env),
  ]);
}

function batching(env: Environment) {
  if (!isTrue(env, "SAGEMAKER_TFS_ENABLE_BATCHING")) return [];
  const {
    SAGEMAKER_TFS_MAX_BATCH_SIZE: size = MAX_BATCH_SIZE,
    SAGEMAKER_TFS_BATCH_TIMEOUT_MICROS: timeout = BATCH_TIMEOUT_US,
  } = env;
  const value = [`max_batch_size=${size}`, `batch_timeout_us=${timeout}`];
  return [["option", { value, origin: "SAGEMAKER_TFS_ENABLE_BATCHING" }]] as const;
}
