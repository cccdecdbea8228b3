import { writeFileSync } from "node:fs";
import { Socket } from "node:net";
import { reasonText } from "../../errors.ts";
import { LOG_LEVELS, LogFilter, type LogLevel } from "../../observability/log-filter.ts";
import { createDeferred } from "../../platform/async/promises.ts";
import { threadMemory } from "../../platform/limits/memory/thread-memory.ts";
import { Channel } from "../../platform/threads/channel.ts";
import type { WireRecord } from "../../platform/threads/frame.ts";
import type { LogEvent } from "../../platform/threads/thread-logger.ts";
import type { ModelThreadEvent } from "../threads/model-thread-messages.ts";
import { ThreadModels } from "../threads/thread-models.ts";
import {
  ATTACH,
  CONTROL_PORT,
  COUNT_MASK,
  DETACH,
  FAILED,
  LOAD,
  LOADED,
  LOG,
  type LoadOrder,
  MODEL_ID,
  PING,
  PONG,
  packRecord,
  UNLOAD,
  UNLOADED,
  unpackRecord,
} from "./control-protocol.ts";
import { LinkPort } from "./link-port.ts";
import { ProcessLink } from "./process-link.ts";
import { RingReader } from "./ring-reader.ts";
import { RingWriter } from "./ring-writer.ts";
import { inheritSharedFiles, type SharedFiles } from "./shared-files.ts";

/** The descriptor of the socket to the server. */
const SOCKET_FD = 3;

/**
 * Runs a model's process: loads a model, answers on every port that the server opens, and resolves after the command to
 * end. `ringFds`: descriptors of the memory files, that of what comes from the server first; none if there are none.
 */
export async function runModelProcess(ringFds: readonly number[], onStarted: () => void): Promise<void> {
  outliveSignals();
  bePreferredVictim();
  const server = new ServerConnection(await inheritSharedFiles(ringFds), onStarted);
  await dieWithServer();
  await server.ended;
}

/**
 * Ctrl-C and service managers signal every process of theirs, also to have the log opened again: the server needs this
 * one until it has drained, and then ends it.
 */
function outliveSignals(): void {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR2"] as const) process.on(signal, () => {});
}

/** Has Linux end this process and not the server if memory runs out. */
function bePreferredVictim(): void {
  if (process.platform !== "linux") return;
  try {
    writeFileSync("/proc/self/oom_score_adj", "500");
  } catch {}
}

/** The end of the socket does not end a process that is stuck in native code. */
async function dieWithServer(): Promise<void> {
  if (process.platform !== "linux") return;
  try {
    const { dieWithParent, hideProcess } = await import("../../platform/native/process-control.ts");
    dieWithParent();
    hideProcess();
  } catch {}
}

/** The connection to the server, and the model behind it. */
class ServerConnection {
  readonly ended: Promise<void>;
  readonly #link: ProcessLink;
  readonly #control: LinkPort;
  readonly #channel: Channel;
  readonly #ports = new Map<number, LinkPort>();
  readonly #filter = new LogFilter("silent");
  readonly #heartbeat = new SharedArrayBuffer(4);
  readonly #ending = createDeferred<void>();
  readonly #onStarted: () => void;
  #models: ThreadModels | undefined;

  constructor(files: SharedFiles | undefined, onStarted: () => void) {
    this.#onStarted = onStarted;
    this.ended = this.#ending.promise;
    const stream = new Socket({ fd: SOCKET_FD, readable: true, writable: true });
    stream.once("close", () => process.exit());
    this.#link = new ProcessLink({
      stream,
      in: files && new RingReader(files.in),
      out: files && new RingWriter(files.out),
      maxBytes: Number.POSITIVE_INFINITY,
      onMessage: (number, message) => this.#ports.get(number)?.deliver(message),
      onMalformed: (reason) => {
        throw reason;
      },
    });
    // A model may take any time to load, and no other word is said meanwhile.
    this.#link.greet();
    this.#control = this.#open(CONTROL_PORT);
    this.#channel = new Channel(this.#control, (record) => this.#receive(record));
  }

  #open(number: number): LinkPort {
    const port = new LinkPort(number, this.#link);
    this.#ports.set(number, port);
    port.onClose(() => this.#ports.delete(number));
    return port;
  }

  #receive(record: WireRecord): void {
    const { kind, id, meta } = record;
    if (kind === LOAD) this.#load(unpackRecord(record) as LoadOrder);
    else if (kind === ATTACH) this.#models?.attach(this.#open(id), { number: id, id: MODEL_ID });
    else if (kind === DETACH) this.#ports.get(id)?.close();
    else if (kind === UNLOAD) void this.#models?.unload(MODEL_ID);
    else if (kind === PING) this.#pong(meta as readonly LogLevel[]);
    else this.#ending.resolve();
  }

  #load({ driver, command, levels, imageBytes }: LoadOrder): void {
    this.#setLevels(levels);
    if (imageBytes !== undefined) threadMemory.addLimit(imageBytes);
    const data = { driver, logged: this.#filter.shared, heartbeat: this.#heartbeat };
    this.#models = new ThreadModels(data, (event) => this.#say(event), this.#onStarted);
    void this.#models.load(command);
  }

  #setLevels(levels: readonly LogLevel[]): void {
    for (const level of LOG_LEVELS) if (level !== "silent") this.#filter.set(level, levels.includes(level));
  }

  #pong(levels: readonly LogLevel[]): void {
    this.#setLevels(levels);
    const count = Atomics.load(new Int32Array(this.#heartbeat), 0) & COUNT_MASK;
    this.#channel.send({ kind: PONG, id: count, meta: undefined, tensors: undefined });
  }

  #say(event: ModelThreadEvent): void {
    // The server watches this process alone.
    if ("state" in event) return;
    this.#channel.send(packEvent(event));
    // A crash may follow, and its reason is in the log.
    if ("log" in event || "loaded" in event) this.#channel.flush();
  }
}

/** An event of a model as a record to the server. */
function packEvent(event: Exclude<ModelThreadEvent, { readonly state: unknown }>): WireRecord {
  if ("log" in event) return packLog(event.log);
  if ("loaded" in event) return packRecord(LOADED, event.loaded);
  if ("failed" in event) return { kind: FAILED, id: 0, meta: event.failed, tensors: undefined };
  if ("unloaded" in event) return { kind: UNLOADED, id: 0, meta: undefined, tensors: undefined };
  return { kind: DETACH, id: event.detached, meta: undefined, tensors: undefined };
}

/** Fields other than plain data become text, and errors their stacks: the line of the log says the same. */
function packLog({ level, message, fields }: LogEvent): WireRecord {
  const plain = Object.entries(fields).map(([name, value]) => [name, isError(value) ? stackOf(value) : value] as const);
  try {
    return packRecord(LOG, { level, message, fields: Object.fromEntries(plain) });
  } catch {
    const texts = plain.map(([name, value]) => [name, reasonText(value)]);
    return packRecord(LOG, { level, message, fields: Object.fromEntries(texts) });
  }
}

function isError(value: unknown): value is Error {
  return value instanceof Error;
}

function stackOf({ stack, message, cause }: Error): string {
  const own = stack ?? message;
  return cause instanceof Error ? `${own}\ncaused by: ${stackOf(cause)}` : own;
}
