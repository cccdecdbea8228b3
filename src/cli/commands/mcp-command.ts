import { createWriteStream, fstatSync } from "node:fs";
import { Socket } from "node:net";
import { ServingError } from "../../errors.ts";
import type { Logger } from "../../observability/logger.ts";
import { requestIdOf } from "../../observability/request-id.ts";
import { settlesWithin } from "../../platform/async/promises.ts";
import { decodeInThread, encodeInThread } from "../../platform/codec-host/codec-jobs.ts";
import { giveBack } from "../../platform/machine/start-secrets.ts";
import { writeOutputsJob } from "../../protocols/kibernetika/http-outputs.ts";
import {
  answerMessage,
  checkBatch,
  checkMessage,
  type MessageContext,
  negotiated,
} from "../../protocols/mcp/answer-message.ts";
import {
  type Message,
  type MessageId,
  type Received,
  RPC,
  RpcError,
  readMessages,
} from "../../protocols/mcp/messages.ts";
import type { Server } from "../../server/server.ts";
import type { Environment } from "../settings/environment.ts";
import { readServeSettings, type ServeCommandLine } from "../settings/read-serve-settings.ts";
import { flagOf, settingsOf } from "../settings/settings.ts";
import { toModelSources } from "./model-sources.ts";
import { openLog } from "./open-log.ts";
import { keptNotice, settleMemory, startServer, wantedOptions } from "./serve-command.ts";

/**
 * `kserving mcp`: lets one assistant, which starts it, use models as tools. Messages come over standard input and go to
 * standard output, one on a line; everything else is written to standard error. Resolves at the end of the input, once
 * all is answered or the time for that is over.
 */
export async function mcp(argv: readonly string[], env: Environment): Promise<void> {
  if (argv.some((word) => word === "--help" || word === "-h")) return void process.stdout.write(HELP);
  const commandLine = await readServeSettings(argv, env);
  const hiding = settleMemory();
  const send = await takeOutput();
  const { settings, warnings = [] } = commandLine;
  const kept = giveBack(settings.hookEnv);
  const { log } = openLog({ ...settings, output: process.stderr }, env, [...warnings, ...idleFlags(commandLine)]);
  if (kept.length > 0) log.info(keptNotice(kept));
  const sources = toModelSources(commandLine);
  const { http: _h, admin: _a, metrics: _m, tls: _t, auth: _u, ...wanted } = await wantedOptions(commandLine, sources);
  const options = { ...wanted, listen: false };
  await hiding;
  const { server } = await startServer({ options, sources, settings, log });
  const client = new StdioClient(server, { send, log, maxBytes: settings.maxMessageBytes });
  const leave = () => void process.stdin.destroy();
  for (const signal of SIGNALS) process.once(signal, leave);
  log.info("ready for an assistant", { models: server.models().map(({ name }) => name) });
  try {
    for await (const line of linesOf(process.stdin, settings.maxMessageBytes)) {
      client.take(line);
      await client.hasRoom();
    }
  } catch (reason) {
    if (!isLeft(reason)) throw reason;
  } finally {
    for (const signal of SIGNALS) process.off(signal, leave);
    await client.finish(settings.drainTimeoutMs);
    await server.close();
  }
}

const HELP = `Usage: kserving mcp [PATH...] [flags]

Lets an assistant that starts it use models as tools, by the Model Context Protocol over standard input and output.
It takes the models, hooks and flags that kserving --help lists; those of ports, HTTP, TLS and authentication do nothing
here. The log goes to standard error.

Example, in an assistant's settings:
  { "mcpServers": { "models": { "command": "kserving", "args": ["mcp", "/home/me/emotion.onnx"] } } }
`;

/** A warning if there are flags that say how clients reach a server. */
function idleFlags({ origins }: ServeCommandLine): readonly string[] {
  const names = (["Network", "Authentication"] as const).flatMap((group) => settingsOf("serve", group));
  const given = names.map(([name]) => name).filter((name) => origins.get(name) === flagOf(name));
  const idle = given.filter((name) => !/^remote|^forward/.test(name)).map(flagOf);
  return idle.length === 0 ? [] : [`${idle.join(", ")}: without effect, since kserving mcp opens no port`];
}

/** Checks for the end of an input that a signal has closed. */
function isLeft(reason: unknown): boolean {
  return reason instanceof Error && "code" in reason && reason.code === "ERR_STREAM_PREMATURE_CLOSE";
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Writes a line. */
type Send = (text: Uint8Array) => Promise<void>;

/** Keeps standard output for the client: what hooks, their children and libraries print goes to standard error. */
async function takeOutput(): Promise<Send> {
  const write = await divertedWrite().catch(replacedWrite);
  return (text) => new Promise((resolve) => write(Buffer.concat([text, NEWLINE]), () => resolve()));
}

type Write = (bytes: Buffer, done: () => void) => unknown;

/** Throws where the system has no means for that. */
async function divertedWrite(): Promise<Write> {
  const { divertOutput } = await import("../../platform/native/process-control.ts");
  const fd = divertOutput();
  const about = fstatSync(fd);
  const isStream = about.isFIFO() || about.isSocket();
  const output = isStream ? new Socket({ fd, readable: false, writable: true }) : createWriteStream("", { fd });
  // A reader that has left is told of by each write.
  output.on("error", () => {});
  return (bytes, done) => output.write(bytes, done);
}

/** For JavaScript's own writes alone. */
function replacedWrite(): Write {
  const { stdout, stderr } = process;
  const write: Write = stdout.write.bind(stdout);
  // Always true: "drain" comes from the other stream.
  Object.assign(stdout, { write: (...args: Parameters<typeof stderr.write>) => stderr.write(...args) || true });
  return write;
}

const [OPEN, COMMA, CLOSE] = [Buffer.from("["), Buffer.from(","), Buffer.from("]")];
const NEWLINE = Buffer.from("\n");
const LINE_END = 0x0a;
const TOO_LONG = "too long";

/** The lines of a stream without their ends, none that is empty; {@link TOO_LONG} for one that is. */
async function* linesOf(input: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Buffer | typeof TOO_LONG> {
  let pieces: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    let rest = chunk;
    for (let end = rest.indexOf(LINE_END); end >= 0; end = rest.indexOf(LINE_END)) {
      bytes += end;
      if (bytes > maxBytes) yield TOO_LONG;
      else if (bytes > 0) yield Buffer.concat([...pieces, rest.subarray(0, end)], bytes);
      [pieces, bytes, rest] = [[], 0, rest.subarray(end + 1)];
    }
    bytes += rest.length;
    if (bytes > maxBytes) pieces = [];
    else if (rest.length > 0) pieces.push(rest);
  }
  if (bytes > 0) yield bytes > maxBytes ? TOO_LONG : Buffer.concat(pieces);
}

interface ClientOptions {
  readonly send: Send;
  readonly log: Logger;
  readonly maxBytes: number;
}

/** Messages that are answered at the same time, at most: the next ones are read after that. */
const MAX_OPEN = 256;
/** Milliseconds for answers to what was given up. */
const GIVE_UP_MS = 5000;
const BLANK = /^\s$/;

/** The assistant at the other end, whose requests may run beside each other. */
class StdioClient {
  readonly #server: Server;
  readonly #options: ClientOptions;
  /** With the bytes of their lines. */
  readonly #open = new Map<Promise<void>, number>();
  readonly #running = new Map<MessageId, AbortController>();
  /** Of the handshake. */
  #version: string | undefined;

  constructor(server: Server, options: ClientOptions) {
    this.#server = server;
    this.#options = options;
  }

  /** Answers a line. */
  take(line: Buffer | typeof TOO_LONG): void {
    if (line.length === 1 && BLANK.test(line.toString())) return;
    const answered = this.#answerLine(line).catch((err) => this.#options.log.error("a message failed", { err }));
    const open = answered.finally(() => this.#open.delete(open));
    this.#open.set(open, line.length);
  }

  /** Resolves once not too much is being answered. */
  async hasRoom(): Promise<void> {
    const { maxBytes } = this.#options;
    const bytes = () => [...this.#open.values()].reduce((sum, each) => sum + each, 0);
    while (this.#open.size >= MAX_OPEN || bytes() > maxBytes) await Promise.race(this.#open.keys());
  }

  /** Resolves once all is answered; what takes longer than this time is given up. */
  async finish(timeoutMs: number): Promise<void> {
    if (await settlesWithin(Promise.all(this.#open.keys()), timeoutMs)) return;
    for (const running of this.#running.values()) running.abort();
    await settlesWithin(Promise.all(this.#open.keys()), GIVE_UP_MS);
  }

  async #answerLine(line: Buffer | typeof TOO_LONG): Promise<void> {
    const { send } = this.#options;
    const received = await this.#read(line);
    if (received instanceof RpcError) return send(toBytes(received, null));
    const { messages, isBatch } = received;
    const answers: Uint8Array[] = [];
    for (const [index, message] of messages.entries()) {
      const answer = await this.#answer(message, received, index);
      if (answer !== undefined) answers.push(answer);
    }
    if (answers.length === 0) return;
    // As bytes: together they may be longer than a text of V8 can be.
    const parts = answers.flatMap((each, index) => [index === 0 ? OPEN : COMMA, each]);
    await send(isBatch ? Buffer.concat([...parts, CLOSE]) : (answers[0] as Uint8Array));
  }

  async #read(line: Buffer | typeof TOO_LONG): Promise<Received | RpcError> {
    const { maxBytes } = this.#options;
    if (line === TOO_LONG) return new RpcError(RPC.invalidRequest, `A line has more than ${maxBytes} bytes.`);
    try {
      const { signal } = new AbortController();
      const received = await readMessages(line, maxBytes, (job, args, body) =>
        decodeInThread(job, args, { message: body, maxBytes, signal }),
      );
      if (received.isBatch) checkBatch(received.messages, this.#version);
      return received;
    } catch (reason) {
      return toRpcError(reason);
    }
  }

  async #answer(message: Message, received: Received, index: number): Promise<Uint8Array | undefined> {
    const { id, method, requestId } = message;
    if (method === "notifications/cancelled" && requestId !== undefined) this.#running.get(requestId)?.abort();
    if (method === "initialize") this.#version = negotiated(message);
    if (id !== undefined && this.#running.has(id))
      return toBytes(new RpcError(RPC.invalidRequest, "A request with this id is being answered."), id);
    const controller = new AbortController();
    if (id !== undefined) this.#running.set(id, controller);
    const { signal } = controller;
    try {
      checkMessage({ message, headers: undefined });
      const inputs: MessageContext["inputs"] = (signature) => received.argumentsOf(index, signature);
      const answer = await answerMessage(message, { ...this.#contextOf(message, signal), inputs });
      // Who has given a request up wants no answer.
      return signal.aborted ? undefined : answer;
    } catch (reason) {
      if (!(reason instanceof RpcError)) this.#options.log.error("a message failed", { err: reason });
      return toBytes(toRpcError(reason), id ?? null);
    } finally {
      if (id !== undefined) this.#running.delete(id);
    }
  }

  #contextOf({ progressToken: token }: Message, signal: AbortSignal): Omit<MessageContext, "inputs"> {
    const { send, maxBytes, log } = this.#options;
    return {
      service: this.#server.service,
      call: { id: requestIdOf({}), metadata: {}, signal },
      headers: undefined,
      write: (outputs) => encodeInThread(writeOutputsJob, [outputs], { signal, form: "text" }),
      hold: () => {},
      maxBytes,
      failed: (err) => signal.aborted || log.warn("a tool failed", { err }),
      ...(token !== undefined && { progress: { token, send } }),
    };
  }
}

function toRpcError(reason: unknown): RpcError {
  return reason instanceof RpcError ? reason : new RpcError(RPC.internalError, ServingError.from(reason).message);
}

function toBytes(error: RpcError, id: MessageId | null): Buffer {
  return Buffer.from(JSON.stringify(error.toBody(id)));
}
