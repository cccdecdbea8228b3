import { readFileSync, utimesSync } from "node:fs";
import { Agent, request } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { generateKeyPair, SignJWT } from "jose";
import { type AttackResult, type AttackRow, type Target, tally } from "./attack-row.ts";
import { watchCanary } from "./canary.ts";
import { callOn, METHODS, openSession } from "./grpc-attack.ts";
import { codeOf, post } from "./http-attack.ts";
import { NEWCOMER, TOKEN_CLAIMS } from "./server-arguments.ts";

const GUESS_MS = 3000;
const CONNECTIONS = 16;
/** Milliseconds between two changes of the file of users. */
const TOUCH_MS = 250;
/** Longest wait of a user of another address who comes for the first time: two checks on a busy machine. */
const FIRST_LOGIN_MS = 2000;
/** Addresses of this machine that a client may come from. */
const ADDRESSES = Array.from({ length: 250 }, (_, index) => `127.0.1.${index + 1}`);
/** Wrong passwords of one address that may be looked at meanwhile: ten, and one every three seconds. */
const MAX_LOOKED_AT = 13;
const PATH = "/v2/models/default";

/** Guesses of passwords, and tokens that name keys of their own. */
export const PASSWORD_ROWS: readonly AttackRow[] = [
  row("passwords-one-address", async (target) => {
    const statuses = await Promise.all(Array.from({ length: CONNECTIONS }, () => guess(target, "127.0.0.1")));
    return judge(statuses.flat(), "401");
  }),
  row("passwords-many-addresses", async (target) => {
    const guesses = Promise.all(ADDRESSES.map((address) => guess(target, address)));
    await wait(GUESS_MS / 2);
    const began = performance.now();
    const status = await ask(target, { authorization: toBasic(NEWCOMER), localAddress: "127.0.2.1" });
    const firstMs = Math.round(performance.now() - began);
    const result = judge((await guesses).flat());
    const got = `${result.got}; a first login ${status} after ${firstMs} ms`;
    return status === "200" && firstMs < FIRST_LOGIN_MS ? { ...result, got } : { got, problem: "a first login waits" };
  }),
  row("passwords-grpc", async (target) => {
    const statuses = await Promise.all(Array.from({ length: CONNECTIONS }, () => guessOverGrpc(target)));
    return judge(statuses.flat(), "grpc 16");
  }),
  row("passwords-file-touched", async (target) => {
    const path = usersFileOf(target);
    const touching = setInterval(() => utimesSync(path, new Date(), new Date()), TOUCH_MS);
    const guesses = await Promise.all(ADDRESSES.map((address) => guess(target, address)));
    clearInterval(touching);
    return judge(guesses.flat());
  }),
  row("tokens-with-urls", sendTokens),
];

/** The file of users that a server was started with: who is known stays so when it is written again. */
function usersFileOf({ pid }: Target): string {
  const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  const at = words.indexOf("--auth-users");
  const path = words[at + 1];
  if (at < 0 || path === undefined) throw new Error("the server has no file of users");
  return path;
}

function row(name: string, attack: (target: Target) => Promise<AttackResult>): AttackRow {
  return { name, server: "known-users", isPlain: true, prepare: () => attack };
}

/** `looked`: the status of a password that was looked at, and is wrong. */
function judge(statuses: readonly string[], looked?: string): AttackResult {
  const got = tally(statuses);
  if (statuses.some((status) => status === "200" || status === "grpc 0")) return { got, problem: "it lets them in" };
  const tries = statuses.filter((status) => status === looked).length;
  return tries > MAX_LOOKED_AT ? { got, problem: "too many passwords are looked at" } : { got };
}

function wrongPassword(): string {
  return toBasic(`alice:${Math.random()}`);
}

function toBasic(user: string): string {
  return `Basic ${Buffer.from(user).toString("base64")}`;
}

/** Sends one wrong password after the other from an address; resolves to the statuses. */
async function guess(target: Target, localAddress: string): Promise<string[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const statuses: string[] = [];
  // A password of one of many addresses may wait for longer than that.
  setTimeout(() => agent.destroy(), GUESS_MS + 100);
  for (const end = performance.now() + GUESS_MS; performance.now() < end; ) {
    statuses.push(await ask(target, { authorization: wrongPassword(), localAddress, agent }));
  }
  return statuses;
}

interface Credentials {
  readonly authorization: string;
  /** The address that they come from. */
  readonly localAddress: string;
  readonly agent?: Agent;
}

function ask({ http }: Target, { authorization, ...options }: Credentials): Promise<string> {
  return new Promise<string>((resolve) => {
    const sent = request(`${http}${PATH}`, { ...options, headers: { authorization } }, (answer) => {
      answer.resume().on("end", () => resolve(String(answer.statusCode)));
    });
    sent.on("error", (reason) => resolve(codeOf(reason))).end();
  });
}

async function guessOverGrpc(target: Target): Promise<string[]> {
  const session = await openSession(target);
  const statuses: string[] = [];
  for (const end = performance.now() + GUESS_MS; performance.now() < end && !session.destroyed; ) {
    const headers = { authorization: wrongPassword() };
    statuses.push(await callOn(session, { path: METHODS.infer, message: Buffer.alloc(0), headers }));
  }
  session.destroy();
  return statuses;
}

/** Tokens of an attacker's key, which say where that is to be found. */
async function sendTokens(target: Target): Promise<AttackResult> {
  const canary = await watchCanary();
  const { privateKey } = await generateKeyPair("RS256");
  const places = [
    { kid: "two", jku: canary.url },
    { kid: "one", x5u: canary.url },
    { kid: canary.url },
    { kid: "../../../../etc/passwd" },
    { kid: "__proto__" },
  ];
  const statuses: string[] = [];
  for (const place of places) {
    const signing = new SignJWT({ ...TOKEN_CLAIMS, sub: "alice" }).setExpirationTime("1h");
    const token = await signing.setProtectedHeader({ alg: "RS256", ...place }).sign(privateKey);
    const [, claims] = token.split(".");
    const unsigned = `${Buffer.from(JSON.stringify({ alg: "none", ...place })).toString("base64url")}.${claims}.`;
    for (const bearer of [token, unsigned]) {
      const headers = { authorization: `Bearer ${bearer}` };
      statuses.push(await post(target, { path: PATH, method: "GET", body: Buffer.alloc(0), headers }));
    }
  }
  const got = tally(statuses);
  if (canary.close() > 0) return { got, problem: "it asks where a token tells it to" };
  return statuses.every((status) => status === "401") ? { got } : { got, problem: "expected 401" };
}
