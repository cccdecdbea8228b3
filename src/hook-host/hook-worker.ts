import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads";
import { createDeferred } from "../async/deferred.ts";
import { ServingError } from "../errors.ts";
import type { InitParams } from "../hooks/hooks.ts";
import type { Logger } from "../observability/logger.ts";
import type { PipelineRequest, PipelineResult } from "../pipeline/pipeline.ts";
import { pipelineSignatures } from "../pipeline/signatures.ts";
import type { Signature } from "../signature/signature.ts";
import { type Answer, Exchange, type Question } from "../threads/exchange.ts";
import { HeartbeatWatch } from "../threads/heartbeat.ts";
import { toHostPort } from "../threads/host-port.ts";
import { MalformedMessage } from "../threads/malformed-message.ts";
import { passLines } from "../threads/pass-lines.ts";
import { StartMark } from "../threads/start-mark.ts";
import { threadEntry } from "../threads/thread-entry.ts";
import { logEvent } from "../threads/thread-logger.ts";
import { fromWireError, toWireError } from "../threads/wire-error.ts";
import { endReason, malformedReason, memoryReason, stallReason, type ThreadPhase } from "./end-reason.ts";
import { HookLoans, type ModelLender } from "./hook-loans.ts";
import {
  type HookCommand,
  type HookDeclaration,
  type HookEvent,
  type HookThreadData,
  type LoanRequest,
  type ModelLines,
  payloadToTensors,
  RUN,
  type RunMeta,
} from "./hook-protocol.ts";
import { parseHookEvent } from "./parse-hook-event.ts";
import { readHookAnswer } from "./read-hook-answer.ts";

/** How a hook thread is run. */
export interface HookThreadOptions extends Omit<HookThreadData, "heartbeat" | "started" | "control"> {
  /** Milliseconds of a still event loop after which the thread counts as stuck; 0 = never. */
  readonly stallMs: number;
}

/** How long a thread may live on when it can no longer be asked, in milliseconds. */
const DEAF_MS = 1000;

/** One hook thread, as the main thread sees it. */
export class HookWorker {
  /** Resolves once the hooks are imported and checked. */
  readonly declared: Promise<HookDeclaration>;
  /** Resolves once the thread has ended, with why: undefined = it was told to. */
  readonly ended: Promise<ServingError | undefined>;
  /** Resolves once the thread has ended and every model that its hooks loaded is given back, which may take as long as a model's last predict. */
  readonly returned: Promise<void>;
  readonly #worker: Worker;
  readonly #control: MessagePort;
  readonly #file: string;
  readonly #log: Logger;
  readonly #declared = createDeferred<HookDeclaration>();
  readonly #ready = createDeferred<void>();
  readonly #startMark = new StartMark();
  /** Ids of the requests that the thread works on. */
  readonly #requestIds = new Set<string>();
  #lostRequestIds: readonly string[] = [];
  #loans: HookLoans | undefined;
  #exchange: Exchange | undefined;
  #phase: ThreadPhase = "load";
  #failure: unknown;
  #hasAnswered = false;
  #closing = false;
  #isGone = false;

  constructor(options: HookThreadOptions, log: Logger) {
    const { stallMs, ...data } = options;
    // A debugger stops the event loop on purpose.
    const watch = new HeartbeatWatch(data.inspect ? 0 : stallMs, () => this.#endStalled(stallMs));
    this.#file = options.file;
    this.#log = log;
    const { port1, port2 } = new MessageChannel();
    this.#control = port1;
    this.#worker = new Worker(threadEntry("hook-thread-entry"), {
      workerData: {
        ...data,
        hookTimeoutMs: data.inspect ? 0 : data.hookTimeoutMs,
        control: port2,
        heartbeat: watch.memory,
        started: this.#startMark.memory,
      } satisfies HookThreadData,
      transferList: [port2],
      name: "hooks",
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: data.memoryMb },
      execArgv: ["--enable-source-maps"],
    });
    this.declared = this.#declared.promise;
    this.ended = this.#whenEnded();
    this.returned = this.ended.then(() => this.#loans?.settled());
    this.#passOutputOn();
    void this.ended.then(() => watch.stop());
  }

  /** Whether requests can be sent to it; false as soon as the thread is gone. */
  get isOpen(): boolean {
    return this.#exchange?.isOpen ?? false;
  }

  /** Whether it has answered a request. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  /** Requests that the thread works on; a cancelled one counts until the thread is done with it. */
  get inFlight(): number {
    return this.#exchange?.pending ?? 0;
  }

  /** Calls back when the thread is done with a cancelled request, and another can be sent. */
  onFreed(listener: () => void): void {
    this.#exchange?.onFreed(listener);
  }

  /**
   * Connects the models, runs init_hook and resolves with the pipeline's signatures once requests can be run. Throws
   * what init_hook threw, and `unavailable` for a thread that has ended.
   */
  async start(lender: ModelLender, params: InitParams): Promise<Readonly<Record<string, Signature>>> {
    const { edges } = await this.declared;
    if (this.#isGone) await this.#ready.promise;
    const onMalformed = (reason: MalformedMessage) => this.#endMalformed(reason);
    this.#loans = new HookLoans(lender, this.#log, onMalformed);
    const { port1, port2 } = new MessageChannel();
    const models = lender.stages(onMalformed);
    const stop = lender.onReconnect(
      (stage, instance, port) => this.#say({ reconnect: { stage, instance, port } }, [port]),
      onMalformed,
    );
    void this.ended.then(stop);
    this.#phase = "init";
    this.#exchange = new Exchange(toHostPort(port1), "the hooks' thread", this.#startMark);
    this.#exchange.onMalformed(onMalformed);
    // One that is ending closes its line too, and then tells by itself why.
    this.#exchange.onClose(() => setTimeout(() => this.#endDeaf(), DEAF_MS).unref());
    const ports: MessagePort[] = [port2, ...models.flatMap(({ ports }) => ports)];
    this.#say({ start: { models, params, requests: port2 } }, ports);
    await this.#ready.promise;
    return pipelineSignatures(
      models.map(({ facts }) => facts),
      edges,
    );
  }

  /** Runs one request; throws `unavailable` when the thread ends before it answers, of which wasNeverStarted knows whether it began. */
  async run(request: PipelineRequest): Promise<PipelineResult> {
    const { info, inputs, metadata, outputs, signal, deadline, priority, queueTimeoutMs } = request;
    const { id, model, version, signature } = info;
    const meta: RunMeta = {
      id,
      model,
      version: String(version),
      signature,
      kind: inputs.kind,
      metadata,
      priority,
      queueTimeoutMs,
      outputs,
      deadline,
    };
    // A busy thread may die before it begins the request: then another needs the inputs.
    const give = this.inFlight === 0;
    const question = { kind: RUN, meta, tensors: payloadToTensors(inputs), signal, give };
    this.#requestIds.add(id);
    const answer = await this.#ask(question).finally(() => this.#requestIds.delete(id));
    try {
      return readHookAnswer(inputs.kind, answer);
    } catch (reason) {
      if (reason instanceof MalformedMessage) this.#endMalformed(reason);
      throw new ServingError("unavailable", "The hooks' thread sent a malformed answer.", { cause: reason });
    }
  }

  /** Resolves once nothing that was sent waits for its answer. */
  async idle(): Promise<void> {
    await this.#exchange?.idle();
  }

  /** Lets close_hook run and the thread end by itself; one that does not within `graceMs` is terminated. */
  async close(graceMs = 5000): Promise<void> {
    this.#closing = true;
    this.#say({ close: true });
    const timer = setTimeout(() => void this.terminate(), graceMs);
    await this.ended;
    clearTimeout(timer);
  }

  /** Ends the thread at once, whatever its hooks do; it runs JavaScript only, so that is safe. Models on loan are not waited for: see {@link returned}. */
  async terminate(): Promise<void> {
    this.#closing = true;
    await this.#worker.terminate();
    await this.ended;
  }

  async #ask(question: Question): Promise<Answer> {
    const answer = await (this.#exchange as Exchange).ask(question);
    this.#hasAnswered = true;
    return answer;
  }

  /** What is posted to an ended worker goes nowhere, its ports included: whoever is at their other end must hear of it. */
  #say(command: HookCommand, transfer: readonly MessagePort[] = []): void {
    if (this.#isGone) for (const port of transfer) port.close();
    else this.#control.postMessage(command, transfer);
  }

  async #whenEnded(): Promise<ServingError | undefined> {
    const worker = this.#worker;
    this.#control.on("message", (message) => this.#receive(message));
    this.#control.on("messageerror", () => this.#receive(undefined));
    // User code can make the thread report any number of errors.
    worker.on("error", (reason) => {
      this.#failure ??= reason;
    });
    worker.once("exit", () => this.#leave());
    const exitCode = await new Promise<number>((resolve) => worker.once("exit", resolve));
    const end = { failure: this.#failure, phase: this.#phase, file: this.#file, exitCode };
    const reason = this.#closing ? undefined : endReason(end);
    const settled = reason ?? new ServingError("unavailable", "The hooks' thread was closed.");
    this.#declared.reject(settled);
    this.#ready.reject(settled);
    return reason;
  }

  /** Whatever runs in the thread may have posted it. */
  #receive(message: unknown): void {
    if (this.#isGone) return;
    try {
      this.#hear(parseHookEvent(message));
    } catch (reason) {
      if (!(reason instanceof MalformedMessage)) throw reason;
      this.#endMalformed(reason);
    }
  }

  #hear(event: HookEvent): void {
    if ("log" in event) logEvent(this.#log, event.log);
    else if ("failed" in event) this.#failure = fromWireError(event.failed);
    else if ("exhausted" in event) this.#failure = memoryReason(this.#file, this.#phase);
    else if ("closeModel" in event) this.#loans?.giveBack(event.closeModel);
    else if ("loadModel" in event) this.#lend(event.loadModel);
    else if ("declared" in event) {
      this.#enter("wait", "load");
      this.#declared.resolve(event.declared);
    } else if ("ready" in event) {
      this.#enter("run", "init");
      this.#ready.resolve();
    }
  }

  /** Ids of the requests that the thread worked on when it ended. */
  get lostRequestIds(): readonly string[] {
    return this.#lostRequestIds;
  }

  #enter(next: ThreadPhase, from: ThreadPhase): void {
    if (this.#phase !== from) throw new MalformedMessage(`it enters the phase ${next} from ${this.#phase}`);
    this.#phase = next;
  }

  /** What the thread posted last may still be on its way when it has ended. */
  #leave(): void {
    this.#lostRequestIds = [...this.#requestIds];
    for (let last = receiveMessageOnPort(this.#control); last; last = receiveMessageOnPort(this.#control)) {
      this.#receive(last.message);
    }
    this.#control.close();
    this.#isGone = true;
    this.#exchange?.close();
    this.#loans?.end();
  }

  #lend(request: LoanRequest): void {
    const loans = this.#loans;
    if (loans === undefined) throw new MalformedMessage("it asks for a model before it was started");
    void this.#answerLoan(request, loans.lend(request), loans);
  }

  async #answerLoan({ id }: LoanRequest, lending: Promise<ModelLines>, loans: HookLoans): Promise<void> {
    try {
      const lines = await lending;
      this.#say({ loadedModel: { id, lines } }, lines.ports);
    } catch (reason) {
      loans.giveBack(id);
      if (!(reason instanceof ServingError)) this.#log.error("a model that hooks asked for failed", { err: reason });
      this.#say({ loadedModel: { id, failed: toWireError(reason) } });
    }
  }

  /** What a thread sends that follows no protocol costs that thread, whoever in it sent it. */
  #endMalformed({ message, cause }: MalformedMessage): void {
    if (this.#closing || this.#isGone) return;
    this.#failure = malformedReason(this.#file, this.#phase, new MalformedMessage(message, { cause }));
    this.#log.error("a hook thread sent a malformed message; it is ended", {
      problem: message,
      inFlight: this.inFlight,
    });
    this.#exchange?.close();
    void this.#worker.terminate();
  }

  /** A thread that cannot be asked any more is of no use, though its event loop turns. */
  #endDeaf(): void {
    if (this.#failure !== undefined) return;
    this.#endMalformed(new MalformedMessage("it closed its line, for want of an answer that can be sent"));
  }

  /** It runs JavaScript only, so terminating it is safe. */
  #endStalled(stallMs: number): void {
    if (this.#closing) return;
    this.#failure = stallReason(this.#file, this.#phase, stallMs);
    this.#log.error("a hook does not return; its thread is ended", { stallMs, requestIds: [...this.#requestIds] });
    void this.#worker.terminate();
  }

  /** What hooks print comes out in order, as events of the log. */
  #passOutputOn(): void {
    const { stdout, stderr } = this.#worker;
    passLines(stdout, (line) => this.#log.info(line, { from: "hooks" }));
    passLines(stderr, (line) => this.#log.warn(line, { from: "hooks" }));
  }
}
