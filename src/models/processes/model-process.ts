import { failedPrecondition, ServingError } from "../../errors.ts";
import { LOST_PROCESS } from "../../lost-process.ts";
import type { Logger } from "../../observability/logger.ts";
import { expectFirstSign, FIRST_SIGN_MS, silence } from "../../platform/async/first-sign.ts";
import { createDeferred, settlesWithin } from "../../platform/async/promises.ts";
import { processMemory } from "../../platform/processes/watched-child.ts";
import { Channel } from "../../platform/threads/channel.ts";
import type { Frame, WireRecord } from "../../platform/threads/frame.ts";
import { HeartbeatWatch } from "../../platform/threads/heartbeat.ts";
import { MalformedMessage } from "../../platform/threads/host-port.ts";
import { EventWriter, isLogEvent, type LogEvent } from "../../platform/threads/thread-logger.ts";
import { fromWireError, parseWireError } from "../../platform/threads/wire-error.ts";
import type { LostThread } from "../threads/lost-thread.ts";
import type { ModelThread } from "../threads/model-thread.ts";
import type { ModelThreadData } from "../threads/model-thread-messages.ts";
import type { StartModelThread } from "../threads/start-model-thread.ts";
import * as Control from "./control-protocol.ts";
import {
  type LoadedModel,
  packRecord,
  parseLoaded,
  toLoadOrder,
  unpackRecord,
  writtenLevels,
} from "./control-protocol.ts";
import { LinkPort } from "./link-port.ts";
import { ProcessLink } from "./process-link.ts";
import { ProcessPorts } from "./process-ports.ts";
import { RingReader } from "./ring-reader.ts";
import { RingWriter } from "./ring-writer.ts";
import { createSharedFiles } from "./shared-files.ts";
import { type ProcessParts, SpawnedProcess } from "./spawned-process.ts";

/** Bytes that a message of a process may take in addition to those in the memory file: the answers of one moment. */
const MAX_MESSAGE_BYTES = 1024 * 1024 * 1024;
/** Maximum time between two checks that the process makes progress, in milliseconds. */
const PING_MS = 2000;
/** Milliseconds that a process may take to end after its model was freed. */
const END_MS = 5000;

/** A model, and the limits of its process. */
export interface ModelProcessData extends ModelThreadData, ProcessParts {
  /** Ends a load when its caller no longer waits. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds in which the process has to say that it has begun. Default {@link FIRST_SIGN_MS}. */
  readonly firstSignMs?: number;
}

/** Data that a model's process needs in addition to those of a thread. */
type OwnProcess = Pick<ModelProcessData, "environment">;

/** Functions that start a model in its own process, and again when that has ended; a signal gives up the first load. */
export function processStarts(
  own: OwnProcess,
  signal: AbortSignal | undefined,
): { readonly start: StartModelThread; readonly startAlone: StartModelThread } {
  const startUntil = (given?: AbortSignal): StartModelThread => {
    return async (data, log) =>
      new ModelProcess({ ...data, ...own, signal: given, files: await createSharedFiles() }, log).load();
  };
  return { start: startUntil(signal), startAlone: startUntil() };
}

/** A child process with one model, which may crash alone. Nothing that it sends is trusted. */
export class ModelProcess {
  readonly #data: ModelProcessData;
  readonly #log: Logger;
  readonly #events = new EventWriter();
  readonly #process: SpawnedProcess;
  readonly #link: ProcessLink;
  readonly #ports: ProcessPorts;
  readonly #control: LinkPort;
  readonly #channel: Channel;
  readonly #loaded = createDeferred<LoadedModel>();
  readonly #unloaded = createDeferred<void>();
  readonly #lost = createDeferred<LostThread>();
  readonly #beats = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  readonly #ping: NodeJS.Timeout;
  readonly #heard: () => void;
  #watch: HeartbeatWatch | undefined;

  constructor(data: ModelProcessData, log: Logger) {
    this.#data = data;
    this.#log = log;
    this.#process = new SpawnedProcess(data, log);
    const { files, firstSignMs = FIRST_SIGN_MS } = data;
    this.#heard = expectFirstSign(() => this.#endSilent(firstSignMs), firstSignMs);
    this.#process.stream.once("data", this.#heard);
    this.#link = new ProcessLink({
      stream: this.#process.stream,
      out: files && new RingWriter(files.out),
      in: files && new RingReader(files.in),
      maxBytes: MAX_MESSAGE_BYTES,
      onMessage: (port, message) => this.#receive(port, message),
      onMalformed: (reason) => this.#refuse(reason),
    });
    this.#control = new LinkPort(Control.CONTROL_PORT, this.#link);
    this.#channel = new Channel(this.#control, (record) => this.#obey(record));
    this.#channel.onMalformed((reason) => this.#refuse(reason));
    this.#ports = new ProcessPorts(this.#link, {
      opened: (port) => this.#say(Control.ATTACH, port),
      closed: (port) => this.#say(Control.DETACH, port),
    });
    this.#ping = setInterval(() => this.#askBeats(), Math.min(PING_MS, data.stallMs / 8 || PING_MS)).unref();
    void this.#process.ended.then((why) => this.#end(why));
  }

  /** Loads the model; throws what loading threw, and `failed_precondition` if the process ended meanwhile. */
  async load(): Promise<ModelThread> {
    const { signal, stallMs } = this.#data;
    const abort = () => this.#process.kill("was ended, since its load was cancelled");
    signal?.addEventListener("abort", abort);
    if (signal?.aborted) abort();
    try {
      this.#channel.send(packRecord(Control.LOAD, toLoadOrder(this.#data, this.#log)));
      const loaded = await this.#loaded.promise;
      const memoryBytes = loaded.facts.memoryBytes ?? (await processMemory(this.#process.pid));
      this.#watch = new HeartbeatWatch(stallMs, () => this.#kill(`has hung for ${stallMs} ms`), this.#beats);
      return this.#toThread(loaded, memoryBytes);
    } catch (reason) {
      this.#say(Control.END);
      void this.#endWithin(END_MS);
      throw reason;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  #toThread({ facts, hookArgs }: LoadedModel, memoryBytes: number | undefined): ModelThread {
    const { pid } = this.#process;
    return {
      facts: { ...facts, isolated: true, ...(memoryBytes !== undefined && { memoryBytes }) },
      hookArgs,
      ...(pid !== undefined && { pid }),
      lost: this.#lost.promise,
      ended: this.#process.ended,
      connect: (onMalformed = () => {}) => this.#ports.openFor(onMalformed),
      connectHere: () => this.#ports.open(),
      close: async () => {
        this.#say(Control.UNLOAD);
        await Promise.race([this.#unloaded.promise, this.#process.ended]);
        this.#say(Control.END);
        await this.#endWithin(END_MS);
      },
    };
  }

  async #endWithin(ms: number): Promise<void> {
    if (await settlesWithin(this.#process.ended, ms)) return;
    this.#process.kill("was killed, since it did not end");
    await this.#process.ended;
  }

  #say(kind: number, id = 0): void {
    this.#channel.send({ kind, id, meta: undefined, tensors: undefined });
    // In order with what the ports send.
    this.#channel.flush();
  }

  #askBeats(): void {
    this.#channel.send({ kind: Control.PING, id: 0, meta: writtenLevels(this.#log), tensors: undefined });
  }

  #receive(port: number, message: Frame): void {
    if (port === Control.CONTROL_PORT) this.#control.deliver(message);
    else this.#ports.deliver(port, message);
  }

  #obey(record: WireRecord): void {
    const { kind, id, meta } = record;
    if (kind === Control.PONG) Atomics.store(new Int32Array(this.#beats), 0, id);
    else if (kind === Control.LOG) this.#events.write(this.#log, parseLogEvent(unpackRecord(record)));
    else if (kind === Control.DETACH) this.#ports.close(id);
    else if (kind === Control.LOADED) this.#loaded.resolve(parseLoaded(unpackRecord(record)));
    else if (kind === Control.FAILED) this.#loaded.reject(fromWireError(parseWireError(meta)));
    else if (kind === Control.UNLOADED) this.#unloaded.resolve();
  }

  /** Ends a process that breaks the protocol: nothing it sends next can be relied on. */
  #refuse({ message }: MalformedMessage): void {
    this.#kill(`sent a message that is none (${message})`);
  }

  #endSilent(ms: number): void {
    const why = silence(ms);
    this.#loaded.reject(new ServingError("unavailable", `The process of the model ${this.#data.name} ${why}`));
    this.#process.kill(why);
  }

  #kill(why: string): void {
    this.#process.kill(`${why} and was killed`);
  }

  #end(why: string): void {
    clearInterval(this.#ping);
    this.#heard();
    this.#watch?.stop();
    const { name } = this.#data;
    const words = this.#process.lastWords === "" ? "" : ` (${this.#process.lastWords})`;
    this.#loaded.reject(failedPrecondition(`The model's process ${why} while it was loading${words}.`));
    this.#lost.resolve({ why, culprit: "this" });
    const lost = `The request was lost: the process of the model ${name} ${why}. The model is loaded again.`;
    this.#ports.fail(new ServingError("unavailable", lost, { details: [LOST_PROCESS] }));
    this.#control.close();
  }
}

/** Checks what a process, which is not trusted, wants to log; throws {@link MalformedMessage}. */
function parseLogEvent(value: unknown): LogEvent {
  if (isLogEvent(value)) return value;
  throw new MalformedMessage("it has an event of the log without level and text");
}
