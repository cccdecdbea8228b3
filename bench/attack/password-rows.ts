import { once } from "node:events";
import { readFileSync, utimesSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { type CryptoKey, generateKeyPair, SignJWT } from "jose";
import { type AttackResult, type AttackRow, type Target, tally } from "./attack-row.ts";
import { watchCanary } from "./canary.ts";
import { callOn, frame, METHODS, openSession, openStream } from "./grpc-attack.ts";
import { codeOf, headOf, openSocket, post } from "./http-attack.ts";
import { openKeys, TOKEN_CLAIMS } from "./key-provider.ts";
import { bytesField } from "./protobuf.ts";
import { flagOf, NEWCOMER } from "./server-arguments.ts";

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
  // Who is known stays so when the file is written again.
  row("passwords-file-touched", async (target) => {
    const path = flagOf(target, "--auth-users");
    const touching = setInterval(() => utimesSync(path, new Date(), new Date()), TOUCH_MS);
    const guesses = await Promise.all(ADDRESSES.map((address) => guess(target, address)));
    clearInterval(touching);
    return judge(guesses.flat());
  }),
  row("tokens-with-urls", sendTokens),
  row("tokens-new-key", useNewKey),
  { name: "removed-user-grpc", server: "known-users", prepare: () => (target) => removeUser(target, streamOverGrpc) },
  { name: "removed-user-http", server: "known-users", prepare: () => (target) => removeUser(target, streamOverHttp) },
  row("removed-user-guesses", (target) => removeUser(target, streamOverHttp, guessing(target))),
];

/** Above the time after which a change of the file of users is seen. */
const REMOVED_WITHIN_MS = 15_000;
/** Time after which a stream that was refused would have ended. */
const OPEN_MS = 500;

/** Begins a stream; `ended` resolves with the status or the text at its end. */
type Stream = (target: Target) => Promise<{ readonly ended: Promise<string>; close(): void }>;

/** Takes a user out of the file of users whose stream is open: that has to end, whatever goes on `besides`. */
async function removeUser(
  target: Target,
  stream: Stream,
  besides: () => () => void = () => () => {},
): Promise<AttackResult> {
  const { ended, close } = await stream(target);
  const early = await Promise.race([ended, wait(OPEN_MS, "open")]);
  if (early !== "open") {
    close();
    return { got: early, problem: "the stream ended before its user was removed" };
  }
  const stop = besides();
  const path = flagOf(target, "--auth-users");
  const [name] = NEWCOMER.split(":");
  const lines = readFileSync(path, "utf8").split("\n");
  writeFileSync(path, lines.filter((line) => !line.startsWith(`${name}:`)).join("\n"));
  const got = await Promise.race([ended, wait(REMOVED_WITHIN_MS, "still open")]);
  stop();
  close();
  return got === "still open" ? { got, problem: "the stream of a user who was removed goes on" } : { got };
}

/** Wrong passwords from the address of the removed user, until it is to stop. */
function guessing(target: Target): () => () => void {
  return () => {
    let isOver = false;
    const go = async () => {
      while (!isOver) await guess(target, "127.0.0.1");
    };
    void go();
    return () => {
      isOver = true;
    };
  };
}

/** A stream of requests that has one answer. */
async function streamOverGrpc(target: Target) {
  const session = await openSession(target);
  const stream = openStream(session, { path: METHODS.stream, headers: { authorization: toBasic(NEWCOMER) } });
  const ended = new Promise<string>((resolve) => {
    stream.on("error", () => {}).once("close", () => resolve("closed"));
    stream.on("trailers", (trailers) => resolve(`grpc ${trailers["grpc-status"]}`));
  });
  stream.write(frame(bytesField(1, "default")));
  await Promise.race([once(stream, "data"), ended]);
  stream.resume();
  return { ended, close: () => session.destroy() };
}

/** An answer in parts that stays open behind its first. */
async function streamOverHttp({ http }: Target) {
  const body = JSON.stringify({ inputs: [{ name: "x", datatype: "INT32", shape: [3], data: [1, 1, 1] }] });
  const socket = openSocket(http);
  const ended = new Promise<string>((resolve) => {
    socket.on("error", () => {}).once("close", () => resolve("closed"));
    socket.on("data", (bytes: Buffer) => {
      const text = bytes.toString("latin1");
      if (/"error"/.test(text)) resolve(text.slice(text.indexOf("data:")).trim().slice(0, 200));
    });
  });
  const head = headOf("/v2/models/parts/infer_stream", body.length, { authorization: toBasic(NEWCOMER) });
  socket.write(head + body);
  await Promise.race([once(socket, "data"), ended]);
  return { ended, close: () => socket.destroy() };
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

/** Tokens a second that name unknown keys. */
const UNKNOWN_KEYS = 40;
/** Longest wait for a token of a key that is new: the keys are read once a second. */
const NEW_KEY_MS = 4000;

/** A new key signs a token while others name unknown ones. */
async function useNewKey(target: Target): Promise<AttackResult> {
  const { add } = await openKeys();
  const stranger = (await generateKeyPair("RS256")).privateKey;
  const statuses: string[] = [];
  const flooding = setInterval(async () => {
    const headers = { authorization: `Bearer ${await sign(`unknown-${Math.random()}`, stranger)}` };
    statuses.push(await post(target, { path: PATH, method: "GET", body: Buffer.alloc(0), headers }));
  }, 1000 / UNKNOWN_KEYS);
  await wait(GUESS_MS);
  const kid = `new-${Math.random()}`;
  const headers = { authorization: `Bearer ${await sign(kid, await add(kid))}` };
  const began = performance.now();
  const status = await post(target, { path: PATH, method: "GET", body: Buffer.alloc(0), headers });
  const newMs = Math.round(performance.now() - began);
  clearInterval(flooding);
  const got = `${tally(statuses)}; a new key ${status} after ${newMs} ms`;
  if (statuses.includes("200")) return { got, problem: "it lets them in" };
  return status === "200" && newMs < NEW_KEY_MS ? { got } : { got, problem: "a new key has to wait" };
}

function sign(kid: string, key: CryptoKey): Promise<string> {
  const token = new SignJWT({ ...TOKEN_CLAIMS, sub: "alice" }).setExpirationTime("1h");
  return token.setProtectedHeader({ alg: "RS256", kid }).sign(key);
}
