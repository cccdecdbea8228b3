import { MessageChannel, type MessagePort } from "node:worker_threads";
import { ServingError } from "../../errors.ts";
import type { Logger } from "../../observability/logger.ts";
import { loggedId } from "../../observability/request-id.ts";
import { isDecoupled } from "../../pipeline/hook-places.ts";
import { HookClock, type HookTimes } from "../../pipeline/hook-times.ts";
import { type InferRequest, type InferResponse, type ServedVersion, toAnswer } from "../../pipeline/infer-request.ts";
import { payloadBytes } from "../../pipeline/payload.ts";
import { pipelineSignatures } from "../../pipeline/signatures.ts";
import { type CancelSignal, unlessAborted } from "../../platform/async/cancel-source.ts";
import { isLongCopy } from "../../platform/codec-host/large-message.ts";
import { HeartbeatWatch, StartMark } from "../../platform/threads/heartbeat.ts";
import { MalformedMessage, toHostPort } from "../../platform/threads/host-port.ts";
import { RpcClient, type RpcResponse, tellLoss } from "../../platform/threads/rpc-client.ts";
import type { Signature } from "../../tensor/signature/signature.ts";
import type { InitParams } from "../hooks.ts";
import { lossOf, lossReason, malformedReason, stallReason } from "./end-reason.ts";
import { HookControl, type ModelEvent } from "./hook-control.ts";
import { HookLeases, type ModelProvider } from "./hook-leases.ts";
import { type HookDeclaration, type HookThreadData, toRunRecord } from "./hook-protocol.ts";
import { readHookAnswer } from "./parse-hook-messages.ts";
import { type HookAnswer, HookStreams, type ReceivedParts } from "./received-parts.ts";
import { kindOfRequest } from "./request-queue.ts";

/** Settings of a hook thread. */
export type HookThreadOptions = Omit<HookThreadData, "heartbeat" | "started" | "times" | "control">;

/** Parts that a thread needs to run requests. */
export interface WorkerStart {
  readonly provider: ModelProvider;
  readonly params: InitParams;
  readonly served: ServedVersion;
}

/** Bytes of plain data of an answer: the metadata of a response, and times. */
const MAX_META_BYTES = 4 * 1024 * 1024;

/** Time for which a thread may outlive its connection for requests, in milliseconds. */
const DEAF_MS = 1000;

/** One hook thread as seen by the main thread: its requests, and the models that its hooks loaded. */
export class HookWorker {
  /** Resolves once the hooks are imported and checked. */
  readonly declared: Promise<HookDeclaration>;
  /** Resolves once the thread has ended, with the reason; undefined = it was closed. */
  readonly ended: Promise<ServingError | undefined>;
  /**
   * Resolves once the thread has ended and every model that its hooks loaded is returned, which may take as long as a
   * model's last predict.
   */
  readonly returned: Promise<void>;
  readonly #control: HookControl;
  readonly #file: string;
  readonly #log: Logger;
  readonly #startMark = new StartMark();
  readonly #clock: HookClock;
  /** Ids of the requests that the thread works on. */
  readonly #requestIds = new Set<string>();
  /** Number of these requests, by kind: a table of the requests themselves took a seventh of the throughput. */
  readonly #kinds = new Map<string, number>();
  readonly #streams = new HookStreams();
  #lostRequestIds: readonly string[] = [];
  #leases: HookLeases | undefined;
  #client: RpcClient | undefined;
  #served: ServedVersion | undefined;
  #hasAnswered = false;
  #pid: number | undefined;
  #isDecoupled = false;

  constructor(options: HookThreadOptions, log: Logger) {
    const { inspectHooks, hookStallMs, file, stageCount } = options;
    // A debugger stops the event loop on purpose.
    const watch = new HeartbeatWatch(inspectHooks ? 0 : hookStallMs, () => this.#endStalled(hookStallMs));
    this.#file = file;
    this.#log = log;
    this.#clock = new HookClock(stageCount);
    const memory = { heartbeat: watch.memory, started: this.#startMark.memory, times: this.#clock.memory };
    const hookTimeoutMs = inspectHooks ? 0 : options.hookTimeoutMs;
    this.#control = new HookControl({ ...options, ...memory, hookTimeoutMs }, log, {
      onModel: (event) => this.#handleModel(event),
      onMalformed: (reason) => this.#endMalformed(reason),
      onGone: () => this.#leave(),
    });
    this.declared = this.#control.declared;
    this.ended = this.#control.ended;
    this.returned = this.ended.then(() => this.#leases?.settled());
    void this.ended.then((reason) => reason && this.#client?.tellGivenUp(lossOf(reason)));
    void this.ended.then(() => watch.stop());
  }

  /** True while requests can be sent to it; false once the thread has ended, or has a reason to. */
  get isOpen(): boolean {
    return this.#client?.isOpen === true && !this.#control.hasFailed;
  }

  /** Number of the process that runs its hooks, once it has started; undefined if the thread runs them. */
  get pid(): number | undefined {
    return this.#pid;
  }

  /** True once it has answered a request. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  /** Times of its hooks until now. */
  hookTimes(): readonly HookTimes[] {
    return this.#clock.read();
  }

  /** Requests that the thread works on; a cancelled one counts until the thread is done with it. */
  get inFlight(): number {
    return this.#client?.pending ?? 0;
  }

  /**
   * The same without answers of which a part has come: they may go on for ever, or wait for slow clients, and must not
   * hold up others. The server's limits bound their number.
   */
  get busy(): number {
    return this.inFlight - this.#streams.begun;
  }

  /** True if the thread works on fewer than so many requests of a kind, without cancelled ones. */
  hasFewer(kind: string, limit: number): boolean {
    return (this.#kinds.get(kind) ?? 0) < limit;
  }

  /** Calls back when the thread is done with a cancelled request, or {@link busy} with one less, and takes another. */
  onFreed(listener: () => void): void {
    this.#client?.onFreed(listener);
    this.#streams.onBegun(listener);
  }

  /**
   * Connects the models, runs init_hook and resolves with the pipeline's signatures once requests can be run. Throws
   * what init_hook threw, and `unavailable` for a thread that has ended.
   */
  async start({ provider, params, served }: WorkerStart): Promise<Readonly<Record<string, Signature>>> {
    const { edges, facts, pid } = await this.declared;
    this.#pid = pid;
    this.#served = served;
    if (this.#control.isGone) await this.#control.ready;
    const onMalformed = (reason: MalformedMessage) => this.#endMalformed(reason);
    const send = this.#control.send.bind(this.#control);
    this.#leases = new HookLeases(provider, { log: this.#log, send, onMalformed });
    const { port1, port2 } = new MessageChannel();
    const models = provider.stages(onMalformed);
    const modelFacts = models.map(({ facts }) => facts);
    this.#isDecoupled = isDecoupled(facts, modelFacts);
    const stop = provider.onReconnect(
      (stage, instance, port, resend) => this.#control.send({ reconnect: { stage, instance, port, resend } }, [port]),
      onMalformed,
    );
    void this.ended.then(stop);
    this.#client = new RpcClient(
      toHostPort(port1, { maxMetaBytes: MAX_META_BYTES }),
      "the hooks' thread",
      this.#startMark,
    );
    this.#client.onMalformed(onMalformed);
    // A thread that is ending also closes its connection, and has its own reason.
    this.#client.onClose(() => setTimeout(() => this.#endDeaf(), DEAF_MS).unref());
    const ports: MessagePort[] = [port2, ...models.flatMap(({ ports }) => ports)];
    this.#control.start({ models, params, served, requests: port2 }, ports);
    await this.#control.ready;
    return pipelineSignatures(modelFacts, edges);
  }

  /**
   * Runs one request; throws `unavailable` when the thread ends before the answer; wasNeverStarted checks if the thread
   * had started it.
   */
  run(request: InferRequest): Promise<InferResponse> {
    const { parts: sink } = request;
    // Of a function that gets bytes it is not known before.
    const mayBeParted = this.#isDecoupled || request.raw !== undefined;
    if (sink === undefined || !mayBeParted) return this.#run(request);
    const options = { request, sink, served: this.#served as ServedVersion, client: this.#client as RpcClient };
    return this.#streams.run(options, (answer) => this.#run(request, answer));
  }

  async #run(request: InferRequest, inParts?: HookAnswer): Promise<InferResponse> {
    const { id } = request.call;
    const kind = kindOfRequest(request);
    this.#requestIds.add(id);
    this.#count(kind, 1);
    let answer: RpcResponse;
    try {
      answer = await this.#ask(request, inParts?.parts);
      this.#hasAnswered = true;
    } catch (reason) {
      throw await this.#lossOf(reason, request.call.signal);
    } finally {
      this.#requestIds.delete(id);
      this.#count(kind, -1);
    }
    const last = this.#read(answer, request);
    return inParts === undefined ? last : inParts.endOf(last);
  }

  /** Not in the function that waits for the answer, which would hold all of it for as long. */
  #ask(request: InferRequest, parts: ReceivedParts | undefined): Promise<RpcResponse> {
    const signal = parts === undefined ? request.call.signal : parts.source;
    // A busy thread may die before it starts the request, and then another needs the inputs; but copying takes time.
    const transfer = this.inFlight === 0 || isLongCopy(payloadBytes(request.inputs), true);
    return (this.#client as RpcClient).ask(toRunRecord(request, parts !== undefined), signal, transfer, parts);
  }

  #read(answer: RpcResponse, request: InferRequest): InferResponse {
    const { inputs, call } = request;
    try {
      return toAnswer(this.#served as ServedVersion, request, readHookAnswer(inputs.kind, answer, call.timeline));
    } catch (reason) {
      if (reason instanceof ServingError) throw reason;
      if (reason instanceof MalformedMessage) this.#endMalformed(reason);
      throw new ServingError("unavailable", "The hooks' thread sent a malformed answer.", { cause: reason });
    }
  }

  /** Ends the answers that come in parts with an error. */
  endStreams(): void {
    this.#streams.end();
  }

  /** Resolves once every request has its answer. */
  async idle(): Promise<void> {
    await this.#client?.idle();
  }

  /** Lets close_hook run and the thread end; terminates it after `graceMs`. */
  close(graceMs = 5000): Promise<void> {
    return this.#control.close(graceMs);
  }

  /**
   * Terminates the thread, whatever its hooks do; that is safe, since it runs only JavaScript. Leased models are not
   * waited for: see {@link returned}.
   */
  terminate(): Promise<void> {
    return this.#control.terminate();
  }

  /** A thread may outlive its connection; who leaves meanwhile does not wait for the reason of its end. */
  async #lossOf(reason: unknown, signal: CancelSignal): Promise<unknown> {
    const told = tellLoss(reason);
    const ended = told === reason ? undefined : await unlessAborted(this.ended, signal);
    // One that was closed has not been ended by its requests.
    return ended === undefined ? reason : lossReason(told as ServingError, ended, this.#file);
  }

  /** Ids, as in logs, of the requests that the thread was working on when it ended. */
  get lostRequestIds(): readonly string[] {
    return this.#lostRequestIds;
  }

  #leave(): void {
    this.#lostRequestIds = this.#loggedIds();
    this.#client?.close();
    this.#leases?.end();
  }

  #handleModel(event: ModelEvent): void {
    if ("loadModel" in event && this.#leases === undefined)
      throw new MalformedMessage("it asks for a model before it was started");
    this.#leases?.handle(event);
  }

  /** Ends a thread that sends a malformed message, whichever code in it did. */
  #endMalformed({ message, cause }: MalformedMessage): void {
    const reason = malformedReason(this.#file, this.#control.phase, new MalformedMessage(message, { cause }));
    if (!this.#control.fail(reason)) return;
    const inFlight = this.inFlight;
    this.#log.error("a hook thread sent a malformed message; it is ended", { problem: message, inFlight });
    this.#client?.close();
  }

  /** Ends a thread that requests can no longer reach, even though its event loop runs. */
  #endDeaf(): void {
    if (this.#control.hasFailed) return;
    this.#endMalformed(new MalformedMessage("it closed its connection, for want of an answer that can be sent"));
  }

  /** Clients choose the kinds, so unused ones must not accumulate. */
  #count(kind: string, change: 1 | -1): void {
    const count = (this.#kinds.get(kind) ?? 0) + change;
    if (count === 0) this.#kinds.delete(kind);
    else this.#kinds.set(kind, count);
  }

  #loggedIds(): readonly string[] {
    return [...this.#requestIds].map(loggedId);
  }

  #endStalled(stallMs: number): void {
    const requestIds = this.#loggedIds();
    if (!this.#control.fail(stallReason(this.#file, this.#control.phase, stallMs))) return;
    this.#log.error("a hook does not return; its thread is ended", { stallMs, requestIds });
  }
}
