import { invalidArgument } from "../errors.ts";
import { ENCRYPTION_SETTINGS } from "../platform/limits/settings/access-settings.ts";
import { OPTION_ROWS, type OptionName } from "../platform/limits/settings/server-settings.ts";
import type { Setting } from "../platform/limits/settings/setting.ts";
import { kindOf } from "../platform/text/kind-of.ts";
import { problemsOfNeeds } from "../serving/check-needs.ts";
import { toNeedingModel } from "../serving/repository/config/model-config.ts";
import { neededModels, type StageOptions } from "../serving/repository/stage.ts";
import { isObject } from "../tensor/record.ts";
import { checkedModel, checkStages } from "./checked-model.ts";
import { type NamedModelOptions, toModelConfig } from "./named-model.ts";
import {
  BOOLEAN_CHECK,
  checkMembers,
  checkTexts,
  HOOKS_CHECK,
  integerCheck,
  isText,
  OBJECT_CHECK,
  type OptionCheck,
  REQUEST_LOG_CHECKS,
  TEXT_CHECK,
  TIME_CHECK,
  WARM_UP_CHECK,
} from "./option-check.ts";
import type { ServerOptions } from "./server-options.ts";

const TEXTS: OptionCheck = {
  expected: "an array of texts",
  accepts: (value) => Array.isArray(value) && value.every(isText),
};
const PORT = integerCheck(0, 65535, " (0 picks a free one)");
const BYTES = integerCheck(1, 2 ** 31 - 1, ", in bytes");

/** Options that are no settings. */
const OTHERS = {
  stages: { expected: "an array of stages", accepts: Array.isArray },
  models: { expected: 'an object of models by name, such as { emotion: { path: "emotion.onnx" } }', accepts: isObject },
  name: TEXT_CHECK,
  hooks: HOOKS_CHECK,
  options: OBJECT_CHECK,
  warmup: WARM_UP_CHECK,
  requestLog: OBJECT_CHECK,
  keepFatalRequests: { ...OBJECT_CHECK, expected: 'an object, such as { folder: "fatal" }' },
  alias: TEXT_CHECK,
  listen: BOOLEAN_CHECK,
  http: { ...OBJECT_CHECK, expected: "an object, such as {} or { port: 9001 }" },
  remoteTls: { ...OBJECT_CHECK, expected: 'an object, such as { ca: "ca.pem" }' },
  tls: { ...OBJECT_CHECK, expected: 'an object, such as { cert: "server.pem", key: "server.key" }' },
  tracing: BOOLEAN_CHECK,
  admin: { ...OBJECT_CHECK, expected: "an object, such as {} or { port: 9002 }" },
  metrics: { ...OBJECT_CHECK, expected: "an object, such as {} or { port: 9003 }" },
  sockets: { ...OBJECT_CHECK, expected: "an object, such as { grpc: 3 }" },
  auth: { ...OBJECT_CHECK, expected: 'an object, such as { users: "users.txt" }' },
  onDownload: { expected: "a function", accepts: (value) => typeof value === "function" },
  log: { expected: 'a logger, such as createLogger({ level: "info" })', accepts: isLogger },
} satisfies { readonly [Name in Exclude<keyof ServerOptions, OptionName>]: OptionCheck };

/** Every option that is known. */
const CHECKS: Readonly<Record<string, OptionCheck>> = {
  ...Object.fromEntries(Array.from(OPTION_ROWS, ([name, row]) => [name, toCheck(row)])),
  ...OTHERS,
};

/** The check of a setting's value, which is the command line's for the same values. */
function toCheck(row: Setting): OptionCheck {
  switch (row.type) {
    case "boolean":
      return BOOLEAN_CHECK;
    case "seconds":
      return TIME_CHECK;
    case "port":
      return PORT;
    case "list":
      return TEXTS;
    case "count":
      return integerCheck(row.min, undefined, row.unit);
    case "bytes":
      return row.isMemory ? integerCheck(0, undefined, row.unit ?? ", in bytes (0 = no limit)") : BYTES;
    case "choice":
      return oneOf(row.choices);
    case "text":
      return row.form === undefined ? TEXT_CHECK : formCheck(row.form);
    default:
      return TEXT_CHECK;
  }
}

function oneOf(choices: readonly string[]): OptionCheck {
  const expected = choices.map((choice) => `"${choice}"`).join(", ");
  return { expected, accepts: (value) => choices.some((choice) => choice === value) };
}

function formCheck({ expected, pattern }: { readonly expected: string; readonly pattern: RegExp }): OptionCheck {
  return { expected, accepts: (value) => typeof value === "string" && pattern.test(value) };
}

const TLS_SCOPES = ENCRYPTION_SETTINGS.tlsScope.choices;
const HTTP = { port: PORT };
const DESCRIPTOR = integerCheck(3);
const SOCKETS = { grpc: DESCRIPTOR, http: DESCRIPTOR, admin: DESCRIPTOR, metrics: DESCRIPTOR };
const REMOTE_TLS = { ca: TEXT_CHECK, cert: TEXT_CHECK, key: TEXT_CHECK };
const TLS = {
  ...{ cert: TEXT_CHECK, key: TEXT_CHECK, clientCa: TEXT_CHECK },
  scope: { ...oneOf(TLS_SCOPES), expected: TLS_SCOPES.join(" or ") },
};

const AUTH = {
  users: TEXT_CHECK,
  username: TEXT_CHECK,
  passwordFile: TEXT_CHECK,
  password: TEXT_CHECK,
  tokens: TEXT_CHECK,
  jwks: TEXT_CHECK,
  jwtIssuer: TEXT_CHECK,
  jwtAudience: TEXT_CHECK,
  rules: TEXT_CHECK,
};

const EXAMPLE = 'createServer({ stages: [{ path: "model.onnx" }], http: {} })';

/** Options that describe the one pipeline of the stages. */
const OF_STAGES = ["name", "hooks", "options", "warmup"] as const;

/**
 * Checks what `createServer` is given as the command line checks its flags; throws `invalid_argument` with the option,
 * what came and what was expected.
 */
export function checkServerOptions(options: unknown): asserts options is ServerOptions {
  if (!isObject(options))
    throw invalidArgument(`createServer takes an object of options, not ${kindOf(options)}; for example ${EXAMPLE}.`);
  checkMembers("", options, CHECKS);
  checkWhatIsServed(options);
  checkTexts("options", options.options);
  if (options.requestLog !== undefined) checkMembers("requestLog.", options.requestLog as object, REQUEST_LOG_CHECKS);
  if (options.keepFatalRequests !== undefined) checkFatalRequests(options.keepFatalRequests as object);
  if (options.tls !== undefined) checkTls(options.tls as object);
  if (options.admin !== undefined) checkMembers("admin.", options.admin as object, { ...HTTP, host: TEXT_CHECK });
  if (options.metrics !== undefined) checkMembers("metrics.", options.metrics as object, { ...HTTP, host: TEXT_CHECK });
  if (options.sockets !== undefined) checkMembers("sockets.", options.sockets as object, SOCKETS);
  if (options.auth !== undefined) checkMembers("auth.", options.auth as object, AUTH);
  if (options.remoteTls !== undefined) checkMembers("remoteTls.", options.remoteTls as object, REMOTE_TLS);
  if (options.http !== undefined) checkMembers("http.", options.http as object, HTTP);
  checkPorts(options);
}

function checkPorts({ grpcSocketOnly, grpcSocketPath, port, http, tls }: ServerOptions): void {
  if (grpcSocketOnly === true && grpcSocketPath === undefined)
    throw invalidArgument("The option grpcSocketOnly goes with grpcSocketPath, the path of the socket.");
  const isShared = grpcSocketOnly !== true && port !== undefined && port !== 0 && http?.port === port;
  if (isShared && tls?.scope === "grpc")
    throw invalidArgument(`HTTP and gRPC share the port ${port}; expected two ports where tls.scope is "grpc".`);
}

function checkWhatIsServed(options: Readonly<Record<string, unknown>>): void {
  const { stages, models } = options;
  if (stages !== undefined && models !== undefined)
    throw invalidArgument("stages and models are both given; expected stages of one pipeline, or models by name.");
  if (models !== undefined) {
    const alien = OF_STAGES.find((name) => options[name] !== undefined);
    if (alien !== undefined)
      throw invalidArgument(`The option ${alien} goes with stages; expected ${alienHint(alien)}.`);
    const named = Object.entries(models as Readonly<Record<string, NamedModelOptions>>);
    for (const [name, model] of named) checkedModel(name, model);
    checkNeeds(named);
    return;
  }
  if (stages === undefined)
    throw invalidArgument(
      `Neither stages nor models are given; expected an array with at least one stage, or models by name; for example ${EXAMPLE}.`,
    );
  checkStages("stages", stages as readonly unknown[]);
  const [other] = neededModels({ stages: stages as readonly StageOptions[] });
  if (other !== undefined)
    throw invalidArgument(`A stage is the model "${other}"; expected models by name, in models: { ${other}: … }.`);
}

function checkTls(tls: { readonly cert?: unknown; readonly key?: unknown }): void {
  checkMembers("tls.", tls, TLS);
  for (const name of ["cert", "key"] as const) {
    if (tls[name] === undefined)
      throw invalidArgument(`The option tls.${name} is missing; expected the path of a PEM file, or its text.`);
  }
}

function checkFatalRequests(given: { readonly folder?: unknown }): void {
  checkMembers("keepFatalRequests.", given, { folder: TEXT_CHECK, models: TEXTS });
  if (given.folder === undefined)
    throw invalidArgument("The option keepFatalRequests.folder is missing; expected the path of a folder.");
}

function checkNeeds(models: readonly (readonly [string, NamedModelOptions])[]): void {
  const needs = models.map(([name, model]) => toNeedingModel(toModelConfig(name, model)));
  const [problem] = problemsOfNeeds(needs).values();
  if (problem !== undefined) throw invalidArgument(problem);
}

function alienHint(name: (typeof OF_STAGES)[number]): string {
  return name === "name" ? "names as keys of models" : `${name} of each model, in models.NAME.${name}`;
}

function isLogger(value: unknown): boolean {
  return (
    isObject(value) && ["debug", "info", "warn", "error", "child"].every((name) => typeof value[name] === "function")
  );
}
