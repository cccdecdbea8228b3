import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads";
import { ServingError } from "../../errors.ts";
import type { Logger } from "../../observability/logger.ts";
import { passLines } from "../../observability/pass-lines.ts";
import { createDeferred } from "../../platform/async/promises.ts";
import { MalformedMessage } from "../../platform/threads/host-port.ts";
import { threadEntry } from "../../platform/threads/thread-entry.ts";
import { EventWriter } from "../../platform/threads/thread-logger.ts";
import { fromWireError } from "../../platform/threads/wire-error.ts";
import { endReason, memoryReason, type ThreadPhase } from "./end-reason.ts";
import type { HookCommand, HookDeclaration, HookEvent, HookThreadData } from "./hook-protocol.ts";
import { parseHookEvent } from "./parse-hook-messages.ts";

/** Events of a hook thread that its {@link HookControl} does not handle itself. */
export type ModelEvent = Extract<HookEvent, { readonly loadModel: unknown } | { readonly closeModel: unknown }>;

/** Handler of the events about models, and of the thread's end. */
interface ControlListener {
  /** Throws {@link MalformedMessage} for an event that the thread may not send in its phase. */
  onModel(event: ModelEvent): void;
  onMalformed(reason: MalformedMessage): void;
  /** Called once the thread has ended and its last messages were received. */
  onGone(): void;
}

/** Controls a hook thread's start, phases, log and end, but not its requests. */
export class HookControl {
  /** Resolves once the hooks are imported and checked. */
  readonly declared: Promise<HookDeclaration>;
  /** Resolves once requests can be run; rejects with the reason for the thread's end. */
  readonly ready: Promise<void>;
  /** Resolves once the thread has ended, with the reason; undefined = it was closed. */
  readonly ended: Promise<ServingError | undefined>;
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #file: string;
  readonly #log: Logger;
  readonly #events = new EventWriter();
  readonly #listener: ControlListener;
  readonly #declared = createDeferred<HookDeclaration>();
  readonly #ready = createDeferred<void>();
  #phase: ThreadPhase = "load";
  #failure: unknown;
  #closing = false;
  #isGone = false;

  constructor(data: Omit<HookThreadData, "control">, log: Logger, listener: ControlListener) {
    const { port1, port2 } = new MessageChannel();
    this.#file = data.file;
    this.#log = log;
    this.#listener = listener;
    this.#port = port1;
    this.#worker = new Worker(threadEntry("hook-thread-entry"), {
      workerData: { ...data, control: port2 } satisfies HookThreadData,
      transferList: [port2],
      name: "hooks",
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: data.hookMemoryMb },
      execArgv: ["--enable-source-maps"],
    });
    this.declared = this.#declared.promise;
    this.ready = this.#ready.promise;
    this.ended = this.#whenEnded();
    this.#passOutputOn();
  }

  get phase(): ThreadPhase {
    return this.#phase;
  }

  /** True once the thread has ended. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** True once there is a reason for the thread's end. */
  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  /**
   * Sends a command. A message to an ended worker is lost with its ports, so the other
   * ends of the ports must be notified.
   */
  send(command: HookCommand, transfer: readonly MessagePort[] = []): void {
    if (this.#isGone) for (const port of transfer) port.close();
    else this.#port.postMessage(command, transfer);
  }

  /** Passes the models and the port for requests, and begins the phase of init_hook. */
  start(command: Extract<HookCommand, { readonly start: unknown }>["start"], transfer: readonly MessagePort[]): void {
    this.#phase = "init";
    this.send({ start: command }, transfer);
  }

  /**
   * Terminates the thread for a reason; false if it is already ending. Termination is
   * safe, since it runs only JavaScript.
   */
  fail(reason: ServingError): boolean {
    if (this.#closing || this.#isGone) return false;
    this.#failure = reason;
    void this.#worker.terminate();
    return true;
  }

  /** Lets close_hook run and the thread end; terminates it after `graceMs`. */
  async close(graceMs: number): Promise<void> {
    this.#closing = true;
    this.send({ close: true });
    const timer = setTimeout(() => void this.terminate(), graceMs);
    await this.ended;
    clearTimeout(timer);
  }

  /** Terminates the thread, whatever its hooks do. */
  async terminate(): Promise<void> {
    this.#closing = true;
    await this.#worker.terminate();
    await this.ended;
  }

  async #whenEnded(): Promise<ServingError | undefined> {
    const worker = this.#worker;
    this.#port.on("message", (message) => this.#receive(message));
    this.#port.on("messageerror", () => this.#receive(undefined));
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

  /** Handles a message from the thread, which any code there may have posted. */
  #receive(message: unknown): void {
    if (this.#isGone) return;
    try {
      this.#handle(parseHookEvent(message));
    } catch (reason) {
      if (!(reason instanceof MalformedMessage)) throw reason;
      this.#listener.onMalformed(reason);
    }
  }

  #handle(event: HookEvent): void {
    if ("log" in event) this.#events.write(this.#log, event.log);
    else if ("failed" in event) this.#failure = fromWireError(event.failed);
    else if ("exhausted" in event) this.#failure = memoryReason(this.#file, this.#phase);
    else if ("closeModel" in event || "loadModel" in event) this.#listener.onModel(event);
    else if ("declared" in event) {
      this.#enter("wait", "load");
      this.#declared.resolve(event.declared);
    } else if ("ready" in event) {
      this.#enter("run", "init");
      this.#ready.resolve();
    }
  }

  #enter(next: ThreadPhase, from: ThreadPhase): void {
    if (this.#phase !== from) throw new MalformedMessage(`it enters the phase ${next} from ${this.#phase}`);
    this.#phase = next;
  }

  /** Handles the thread's last messages, which may arrive after its end. */
  #leave(): void {
    for (let last = receiveMessageOnPort(this.#port); last; last = receiveMessageOnPort(this.#port)) {
      this.#receive(last.message);
    }
    this.#port.close();
    this.#isGone = true;
    this.#listener.onGone();
  }

  /** Logs the lines that hooks print, in order. */
  #passOutputOn(): void {
    const { stdout, stderr } = this.#worker;
    passLines(stdout, (line) => this.#log.info(line, { from: "hooks" }));
    passLines(stderr, (line) => this.#log.warn(line, { from: "hooks" }));
  }
}
