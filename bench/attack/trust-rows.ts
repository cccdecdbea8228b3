import { setTimeout as wait } from "node:timers/promises";
import { type AttackRow, type ServerKind, type Target, tally } from "./attack-row.ts";
import { post } from "./http-attack.ts";

const LOAD = "/v2/repository/models/default/load";
const UNLOAD = "/v2/repository/models/default/unload";
const LOGGING = "/v2/logging";
const TEXT = { "content-type": "text/plain" };

/** Requests that a web page, a proxy or a rebound name makes: none of them may control the server. */
const FOREIGN: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  page: { ...TEXT, origin: "https://example.com" },
  "null-origin": { ...TEXT, origin: "null" },
  "cross-site": { ...TEXT, "sec-fetch-site": "cross-site" },
  rebinding: { ...TEXT, host: "attacker.example:9001" },
  forwarded: { "x-forwarded-for": "203.0.113.5" },
  "forwarded-rfc": { forwarded: "for=203.0.113.5" },
  "real-ip": { "x-real-ip": "203.0.113.5" },
  via: { via: "1.1 proxy.example" },
  plain: {},
};

const REBOUND = { origin: "http://attacker.example:9001", host: "attacker.example:9001" };

/** Attacks on the permissions at the defaults. */
export const CONTROL_ROWS: readonly AttackRow[] = [
  ...Object.entries(FOREIGN).map(([name, headers]) => controlRow(name, headers)),
  inferenceRow("page-infers", { origin: "https://example.com", "sec-fetch-site": "cross-site" }),
  ...["forwarded", "forwarded-rfc", "real-ip", "via", "plain"].map((name) =>
    inferenceRow(`rebound-page-infers-${name}`, { ...FOREIGN[name], ...REBOUND }),
  ),
];

/** Configurations of a load that a parser of YAML takes long for, and that have more keys than any. */
const CONFIGURATIONS: Readonly<Record<string, string>> = {
  aliases: `a: &x 1\nb: [${"*x,".repeat(60_000)}]`,
  keys: `{${Array.from({ length: 15_000 }, (_, at) => `"k${at}":1`).join()}}`,
  digits: `{"max_batch_size":${"9".repeat(250_000)}}`,
  escapes: `{"name":"${"\\\\".repeat(100_000)}`,
};

/** Loads with such configurations: each is refused. */
export const CONFIG_ROWS: readonly AttackRow[] = Object.entries(CONFIGURATIONS).map(([name, config]) => ({
  name: `config-${name}`,
  server: "repository",
  prepare: () => async (target) => {
    const body = Buffer.from(JSON.stringify({ parameters: { config } }));
    const got = await post(target, { path: LOAD, body, headers: { authorization: target.authorization ?? "" } });
    return got === "400" ? { got } : { got, problem: "it is not refused" };
  },
}));

function controlRow(name: string, headers: Readonly<Record<string, string>>): AttackRow {
  const attack = async (target: Target) => {
    const send = (path: string, body = "{}") => post(target, { path, body: Buffer.from(body), headers });
    const unload = await send(UNLOAD);
    const load = await send(LOAD);
    const logging = await send(LOGGING, '{"log_info":false}');
    const got = `unload ${unload}, load ${load}, logging ${logging}`;
    return [unload, load, logging].includes("200") ? { got, problem: "it controls the server" } : { got };
  };
  return { name: `control-${name}`, server: "defaults", prepare: () => attack };
}

/** A page of another origin, or of a name that leads to this machine, that asks for inference. */
function inferenceRow(name: string, page: Readonly<Record<string, string>>): AttackRow {
  const body = Buffer.from('{"instances":[1]}');
  const attack = async (target: Target) => {
    const headers = { ...TEXT, ...page };
    const status = await post(target, { path: "/v1/models/default:predict", body, headers });
    const got = `inference ${status}`;
    return status === "200" ? { got, problem: "a page of any origin infers without --cors-origin" } : { got };
  };
  return { name: `control-${name}`, server: "defaults", prepare: () => attack };
}

const DEADLY = { SIGSEGV: 11, SIGABRT: 6, SIGFPE: 8, SIGKILL: 9 } as const;
/** Time in which a server that died answers again. */
const BACK_MS = 1000;

/** One of fifty models ends the process: that costs what was under way, and at the second time nothing. */
export const CRASH_ROWS: readonly AttackRow[] = Object.entries(DEADLY).map(([name, signal]) => ({
  name: `crash-${name}`,
  server: "mortal",
  maxWaitMs: BACK_MS,
  // A request of each protocol.
  mayLose: 2,
  prepare: () => async (target) => {
    const body = Buffer.from(JSON.stringify({ inputs: [signal] }));
    const kill = () => post(target, { path: "/v1/models/mortal:predict", body });
    const first = await kill();
    const began = performance.now();
    const back = await retried(() => post(target, { path: "/v1/models/m0:predict", body }));
    const backMs = Math.round(performance.now() - began);
    const second = await kill();
    const got = `${first}, ${back} after ${backMs} ms, ${second}`;
    return second === "503" ? { got } : { got, problem: "the model is not isolated" };
  },
}));

/** Ends of what runs a model, and a request that does no harm to it. */
const POISONS = {
  process: { server: "isolated", send: (target, isPoison) => predict(target, isPoison ? DEADLY.SIGKILL : 0) },
  hooks: { server: "hostile-hooks", send: (target, isPoison) => infer(target, isPoison ? "exit" : "nothing") },
} as const satisfies Readonly<Record<string, Poison>>;

interface Poison {
  readonly server: ServerKind;
  send(target: Target, isPoison: boolean): Promise<string>;
}

/**
 * A deadly request again and again: the same is refused after the second time, a client that always sends another is
 * held back; and others are answered.
 */
export const POISON_ROWS: readonly AttackRow[] = [...repeatedRows(), risingRow("exit", 24), risingRow("hang", 6)];

/** Hook threads that end, or hang, by ever other requests of one client. */
function risingRow(act: "exit" | "hang", times: number): AttackRow {
  const attack = async (target: Target) => {
    const got: string[] = [];
    for (let time = 0; time < times; time++) {
      got.push(await within(10_000, infer(target, act, `${time}`)));
      const other = await retried(() => infer(target, "nothing", "", "127.0.5.1"));
      if (other !== "200") return { got: tally(got), problem: `others of the model get ${other}` };
    }
    return got.at(-1) === "429" ? { got: tally(got) } : { got: tally(got), problem: "it is run again and again" };
  };
  return { name: `poison-rising-${act}`, server: "hostile-hooks", prepare: () => attack };
}

function repeatedRows(): readonly AttackRow[] {
  return Object.entries(POISONS).map(([name, { server, send }]) => ({
    name: `poison-${name}`,
    server,
    maxWaitMs: BACK_MS,
    mayLose: 4,
    prepare: () => async (target) => {
      const got: string[] = [];
      for (let time = 0; time < 5; time++) {
        got.push(await within(10_000, send(target, true)));
        const other = await retried(() => send(target, false));
        if (other !== "200") return { got: got.join(", "), problem: `others of the model get ${other}` };
      }
      const isRefused = got.slice(2).every((status) => status === "400");
      return isRefused ? { got: got.join(", ") } : { got: got.join(", "), problem: "it is run again and again" };
    },
  }));
}

function predict(target: Target, value: number): Promise<string> {
  return post(target, { path: "/v1/models/mortal:predict", body: Buffer.from(JSON.stringify({ inputs: [value] })) });
}

/** Acts of bench/attack/hostile-hooks.ts. */
const ACTS = [
  ...["post", "flood", "stringify", "prototypes", "port"],
  ...["large-error", "large-rejection", "large-log", "large-output", "many-lines", "large-metadata", "large-timer"],
];

/** Hook threads that are not what they seem: the server lives, and serves on. */
export const HOOK_ROWS: readonly AttackRow[] = ACTS.map((act) => ({
  name: `hooks-${act}`,
  server: "hostile-hooks",
  prepare: () => async (target) => {
    const got: string[] = [];
    for (let time = 0; time < 3; time++) got.push(await within(10_000, infer(target, act)));
    await wait(500);
    const after = await retried(() => infer(target, "nothing"));
    const result = { got: `${got.join(", ")}, then ${after}` };
    return after === "200" ? result : { ...result, problem: "it no longer serves" };
  },
}));

function infer(target: Target, act: string, more = "", localAddress?: string): Promise<string> {
  const data = more === "" ? [act] : [act, more];
  const json = { inputs: [{ name: "x", shape: [data.length], datatype: "BYTES", data }] };
  const message = { path: "/v2/models/default/infer", body: Buffer.from(JSON.stringify(json)) };
  return post(target, localAddress === undefined ? message : { ...message, localAddress });
}

async function within(ms: number, status: Promise<string>): Promise<string> {
  return await Promise.race([status, wait(ms, "no answer")]);
}

/** A thread that was replaced needs a moment. */
async function retried(ask: () => Promise<string>): Promise<string> {
  let status = "";
  for (let attempt = 0; attempt < 10 && status !== "200"; attempt++) {
    status = await within(5000, ask());
    if (status !== "200") await wait(500);
  }
  return status;
}
