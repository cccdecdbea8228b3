import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { hashPassword } from "../../src/access/authentication/password-hash.ts";
import { freePort } from "../../test/helpers/free-port.ts";
import type { ServerKind, Target } from "./attack-row.ts";
import type { Configuration } from "./configuration.ts";
import { openStore, toModelName } from "./hostile-store.ts";
import { openKeys, TOKEN_CLAIMS } from "./key-provider.ts";
import { encodeLaneModel, LANE_MODELS } from "./lane-models.ts";
import { textModels } from "./text-models.ts";

/** Text of a file beside the model repository, which no client may see. */
export const SECRET = "the secret beside the repository";
const [USER, PASSWORD] = ["alice", "open sesame"];
/** `NAME:PASSWORD` of a user whom no request has shown yet. */
export const NEWCOMER = "bob:first time here";
/** Variables of a server's environment that hooks and models must not find. */
export const SECRETS: Readonly<Record<string, string>> = {
  AWS_SECRET_ACCESS_KEY: randomUUID(),
  HF_TOKEN: randomUUID(),
};
/** Users that log in for the first time while an attack goes on. */
const USERS = 500;
/** Kinds of servers that know no users, since it is attacked who may do what without them. */
const WITHOUT_LOGINS: readonly ServerKind[] = ["defaults"];
/** Kinds of servers of which a user whom they know is asked for, or may control them. */
const WITH_USER: readonly ServerKind[] = ["known-users", "rules", "repository", "stored"];
/** Kinds of servers whose metrics and control tell no login: they have ports of their own, or users may control. */
const READ_BY_USERS: readonly ServerKind[] = ["few-descriptors", "repository", "stored"];

const ENCRYPTED = [
  ...["--tls-cert", fromRoot("test/fixtures/tls/server.pem")],
  ...["--tls-key", fromRoot("test/fixtures/tls/server.key")],
];

const NULL = ["--driver", "null"];
const OWN: Readonly<Record<ServerKind, readonly string[]>> = {
  null: NULL,
  defaults: NULL,
  shared: NULL,
  "send-timeout": [...NULL, "--send-timeout", "2"],
  "few-connections": [...NULL, "--max-connections", "500"],
  "client-limits": [...NULL, "--client-key", "header:x-api-key", "--client-rate", "100000"],
  "few-descriptors": NULL,
  "log-file": [...NULL, "--access-log", "--log-level", "debug"],
  "inline-images": [],
  "thread-images": [],
  "hook-images": [],
  "hostile-hooks": ["--hook-stall", "3"],
  hooks: [...NULL, "--hooks", fromRoot("bench/identity-hooks.ts")],
  "known-users": [],
  rules: NULL,
  mortal: [],
  lane: [],
  isolated: [],
  spied: [],
  queued: [],
  streams: [],
  texts: ["--mcp", "--fetch-media", "*,127.0.0.1:*"],
  repository: ["--model-control", "explicit", "--load-model", "default", "--allow-control", "all"],
  stored: ["--model-control", "explicit", "--load-model", "default", "--allow-control", "all"],
  proxy: ["proxy", "--allow-proxy-headers"],
};

const LISTENERS = ["--listeners", "2"];

interface ServerWish {
  readonly kind: ServerKind;
  readonly configuration: Configuration;
  /** For the server's files. */
  readonly folder: string;
  /** `host:port` of the gRPC server behind a proxy. */
  readonly behind?: string;
}

/** The arguments of a server's program on free ports, and the files that they name. */
export async function argumentsOf({ kind, configuration, folder, behind }: ServerWish): Promise<string[]> {
  const users = hasLogins(kind) ? await userArguments(kind, folder) : [];
  if (behind !== undefined)
    return [...OWN[kind], "--grpc-address", behind, "--host", "127.0.0.1", "--http-port", "0", ...users];
  const port = kind === "shared" ? await freePort() : 0;
  const ports = ["--host", "127.0.0.1", "--port", String(port), "--http-enable", "--http-port", String(port)];
  const { isEncrypted, hasListeners } = configuration;
  const form = [...(isEncrypted ? ENCRYPTED : []), ...(hasListeners ? LISTENERS : [])];
  return [...OWN[kind], ...(await fileArguments(kind, folder)), ...users, ...ports, ...form];
}

/** `Authorization` of the user that a server knows, where it asks for one. */
export function authorizationOf(kind: ServerKind): string | undefined {
  return WITH_USER.includes(kind) ? basic(USER) : undefined;
}

/** `Authorization` of one of many users; each is new to a server once. */
export function loginOf(index: number): string {
  return basic(`user${index % USERS}`);
}

/** The thing that such a user asks for: metrics and control, or descriptions of models, for users alone then. */
export function loginBy(kind: ServerKind): "metrics" | "read" {
  return READ_BY_USERS.includes(kind) ? "read" : "metrics";
}

/** True where a server has users that log in beside an attack. */
export function hasLogins(kind: ServerKind): boolean {
  return !WITHOUT_LOGINS.includes(kind);
}

function basic(name: string): string {
  return `Basic ${Buffer.from(`${name}:${PASSWORD}`).toString("base64")}`;
}

/** The value of a flag that a server was started with. */
export function flagOf({ pid }: Target, flag: string): string {
  const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  const value = words[words.indexOf(flag) + 1];
  if (value === undefined || !words.includes(flag)) throw new Error(`the server was started without ${flag}`);
  return value;
}

/** A path of this repository. */
export function fromRoot(path: string): string {
  return fileURLToPath(new URL(`../../${path}`, import.meta.url));
}

async function fileArguments(kind: ServerKind, folder: string): Promise<string[]> {
  const attacked = ATTACKED[kind];
  if (attacked !== undefined) return configOf(folder, [{ name: "default", ...attacked }, CALM]);
  if (kind === "few-descriptors")
    return ["--metrics-port", String(await freePort()), "--admin-port", String(await freePort())];
  if (kind === "log-file") return ["--log-path", join(folder, "log")];
  if (kind === "mortal") return manyModels(folder);
  if (kind === "lane") return laneModels(folder);
  if (kind === "streams") return configOf(folder, [DEFAULT, parted("parts", 1), parted("inline-parts", 0)]);
  if (kind === "texts") return configOf(folder, [DEFAULT, ...textModels(folder)]);
  if (kind === "isolated") return configOf(folder, [DEFAULT, { ...MORTAL, isolate: true }]);
  if (kind === "spied") return configOf(folder, [DEFAULT, ...SPIES]);
  if (kind === "queued") return configOf(folder, [DEFAULT, SLOW]);
  if (kind === "known-users") return configOf(folder, [DEFAULT, parted("parts", 1)]);
  if (kind === "stored") return configOf(folder, [DEFAULT, ...(await storedModels())]);
  return kind === "repository" ? repositoryArguments(folder) : [];
}

/** Users that log in beside the attack; where all callers have to be known, keys for tokens too. */
async function userArguments(kind: ServerKind, folder: string): Promise<string[]> {
  const [users, rules] = [join(folder, "users.txt"), join(folder, "rules.yaml")];
  const names = [USER, ...Array.from({ length: USERS }, (_, index) => `user${index}`)];
  hash ??= hashPassword(PASSWORD);
  const text = await hash;
  const [newcomer, secret] = NEWCOMER.split(":") as [string, string];
  const lines = [...names.map((name) => `${name}:${text}\n`), `${newcomer}:${await hashPassword(secret)}\n`];
  writeFileSync(users, lines.join(""));
  if (kind === "known-users") return ["--auth-users", users, ...(await tokenArguments())];
  const open = loginBy(kind) === "read" ? "open: [health, infer]\n" : "open: [health, infer, read]\n";
  writeFileSync(rules, kind === "rules" ? PATTERN_RULES : open);
  return ["--auth-users", users, "--auth-rules", rules];
}

/** Rules whose patterns may be tried in many ways. */
const PATTERN_RULES = `open: [health]
allow:
  - who: "*"
    kinds: [metrics]
  - who: "*"
    kinds: [infer, read]
    models: [default, "*-team-*-v*", "*a*a*a*a*b"]
`;

/** Of everybody's password. */
let hash: Promise<string> | undefined;

async function tokenArguments(): Promise<string[]> {
  const { iss, aud } = TOKEN_CLAIMS;
  return ["--auth-jwks", (await openKeys()).url, "--auth-jwt-issuer", iss, "--auth-jwt-audience", aud];
}

const MANY_MODELS = 48;

/** One model that ends its process where it is asked to, and many others. */
function manyModels(folder: string): string[] {
  const path = fromRoot("test/fixtures/models/half-plus-two.onnx");
  const others = Array.from({ length: MANY_MODELS }, (_, index) => ({ name: `m${index}`, path }));
  return configOf(folder, [DEFAULT, MORTAL, ...others]);
}

const DEFAULT = { name: "default", driver: "null" };
const MORTAL = { name: "mortal", driver: fromRoot("test/faults/mortal-driver.ts") };

/** A model beside one that is kept busy. */
const CALM = { name: "calm", driver: "null" };

/** Default models that an attack keeps busy. */
const ATTACKED: Readonly<Partial<Record<ServerKind, object>>> = {
  "inline-images": { driver: fromRoot("bench/attack/inline-image-driver.ts") },
  "thread-images": { driver: fromRoot("bench/attack/thread-image-driver.ts") },
  "hook-images": hooked("bench/attack/decoding-hooks.ts"),
  "hostile-hooks": hooked("bench/attack/hostile-hooks.ts"),
};

/** The model that others ask. */
export function modelOf(kind: ServerKind): string {
  return ATTACKED[kind] === undefined ? DEFAULT.name : CALM.name;
}

function hooked(path: string): object {
  return { stages: [{ driver: "null" }], hooks: fromRoot(path) };
}

/** Models that look for secrets of the server. */
const SPIES = [
  { name: "spying-process", driver: fromRoot("bench/attack/spying-driver.ts"), isolate: true },
  { name: "spying-hooks", ...hooked("bench/attack/spying-hooks.ts") },
];
/** A model of which one request after the other takes long. */
const SLOW = { name: "slow", driver: fromRoot("bench/attack/slow-driver.ts") };

/** A model of each archive of the hostile store. */
async function storedModels(): Promise<object[]> {
  const { url, archives } = await openStore();
  return Object.keys(archives).map((name) => ({ name: toModelName(name), driver: "null", path: `${url}/${name}` }));
}

/** A model that answers in parts. */
function parted(name: string, workers: number): object {
  return { name, stages: [{ driver: "null" }], hooks: fromRoot("bench/stream-hooks.ts"), workers };
}

function configOf(folder: string, models: readonly object[]): string[] {
  const config = join(folder, "serving.json");
  writeFileSync(config, JSON.stringify({ models }));
  return ["--config", config];
}

function laneModels(folder: string): string[] {
  const models = Object.entries(LANE_MODELS).map(([name, nodes]) => {
    const path = join(folder, `${name}.onnx`);
    writeFileSync(path, encodeLaneModel(nodes));
    return { name, path };
  });
  const config = join(folder, "serving.json");
  writeFileSync(config, JSON.stringify({ models: [{ name: "default", driver: "null" }, ...models] }));
  return ["--config", config];
}

/** Two models of which one is loaded, and a third and a text outside of their folder. */
function repositoryArguments(folder: string): string[] {
  const repository = join(folder, "repository");
  for (const model of ["repository/default", "repository/other", "outside"]) {
    mkdirSync(join(folder, model, "1"), { recursive: true });
    writeFileSync(join(folder, model, "config.json"), "{}");
  }
  writeFileSync(join(folder, "secret.txt"), SECRET);
  const models = ["default", "other"].map((name) => ({ name, path: join(repository, name), driver: "null" }));
  const config = join(folder, "serving.json");
  writeFileSync(config, JSON.stringify({ models }));
  return ["--config", config];
}
