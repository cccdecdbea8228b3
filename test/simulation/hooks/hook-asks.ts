import { ServingError } from "../../../src/errors.ts";
import type { InferRequest, InferResponse, PartSink } from "../../../src/pipeline/infer-request.ts";
import type { PipelineRunner } from "../../../src/pipeline/runner.ts";
import { CancelSource } from "../../../src/platform/async/cancel-source.ts";
import { createTensor, createTensors, type Tensors } from "../../../src/tensor/tensor.ts";
import { answerTo } from "../queue/queue-history.ts";
import type { SceneWorld } from "../threads/scene.ts";
import { LONGEST_MESSAGE_MS, type SimulatedThread } from "../threads/simulated-thread.ts";
import type { AskHooks } from "./hook-history.ts";

/** Time between two looks of a client that reads slowly, in milliseconds. */
const SLOW_MS = 30;

/** Time in which the end of a thread is known, in milliseconds. */
const LOSS_MS = 50;

/** Time for which a request may wait for a place that nobody needs, in milliseconds. */
const PATIENCE_MS = 8000;

/** Time in which a request comes to its model, in milliseconds. */
const SENT_MS = 200;

/** Number of requests that wait nowhere else: as many as one thread takes. */
const MOST_AT_MODEL = 32;

/** A request of a client, from its beginning to its end. */
export class HookAsk {
  readonly command: AskHooks;
  readonly signal = new CancelSource();
  readonly sentAt: number;
  cancelledAt: number | undefined;
  isSettled = false;
  /** Number of times that its hook began, and the number of parts that were made for it. */
  begun = 0;
  made = 0;
  /** Parts that its client has got. */
  got = 0;
  /** True once the hook has failed, as it should. */
  hasFailed = false;
  /** Bytes of parts that wait for it. */
  heldBytes = 0;
  isWriting = false;
  /** The moment at which its last part was made, and at which it was told that others wait for its place. */
  madeAt = Number.POSITIVE_INFINITY;
  toldAt: number | undefined;
  /** The moment since which it keeps a place from others without reading; infinite = it does not. */
  inTheWaySince = Number.POSITIVE_INFINITY;

  constructor(command: AskHooks, sentAt: number) {
    this.command = command;
    this.sentAt = sentAt;
  }
}

interface HookAsksOptions {
  readonly partBytes: number;
}

/** All requests of a history, and what must hold for each. */
export class HookAsks {
  readonly open = new Map<number, HookAsk>();
  /** Number of threads that were lost, and of reloads. */
  losses = 0;
  reloads = 0;
  readonly #world: SceneWorld;
  readonly #options: HookAsksOptions;
  readonly #all = new Map<number, HookAsk>();

  constructor(world: SceneWorld, options: HookAsksOptions) {
    this.#world = world;
    this.#options = options;
  }

  get unfinished(): readonly string[] {
    return [...this.open.keys()].map((id) => `request ${id} is not answered`);
  }

  of(id: number): HookAsk {
    return this.#all.get(id) as HookAsk;
  }

  begin(command: AskHooks, runner: PipelineRunner): void {
    const { time, process } = this.#world;
    const { id, leavesAfterMs } = command;
    const ask = new HookAsk(command, time.now);
    this.open.set(id, ask);
    this.#all.set(id, ask);
    runner.run(this.#requestOf(ask)).then(
      (answer) => this.#answered(ask, answer),
      (reason) => this.#failed(ask, reason),
    );
    if (leavesAfterMs !== undefined)
      process.main.after(leavesAfterMs, `client ${id} leaves`, () => this.#leave(ask, "The client has left."));
  }

  /** A hook begins with a request. */
  begins(id: number, thread: SimulatedThread): void {
    const ask = this.of(id);
    const { name: place } = thread;
    const { cancelledAt = Number.POSITIVE_INFINITY } = ask;
    // A model hears of it from the hook thread that has asked it.
    const between = place.startsWith("model") ? Array.from(this.#world.process.workers, (worker) => worker.thread) : [];
    const isTold = [thread, ...between].every((each) => this.#world.isPrompt(each));
    if (cancelledAt + 2 * LONGEST_MESSAGE_MS < this.#world.time.now && isTold)
      this.#world.violate("H11", `request ${id} begins in ${place}, although its client has left`);
    this.#world.note(`request ${id} begins in ${place}`);
    if (++ask.begun > 1) this.#world.violate("H1", `request ${id} begins a second time, in ${place}`);
    if (ask.isSettled && ask.cancelledAt === undefined && this.losses === 0)
      this.#world.violate("H2", `request ${id} begins in ${place}, although it is over`);
  }

  /** Checks that a client that does not read keeps its place from others for a while at most. */
  checkPlaces(): void {
    const { now } = this.#world.time;
    const [held, waiting] = [new Map<number, number>(), new Set<number>()];
    const heldBy = (client: number) => held.get(client) ?? 0;
    for (const { begun, sentAt, command } of this.open.values()) {
      if (begun > 0) held.set(command.client, heldBy(command.client) + 1);
      else if (now - sentAt > SENT_MS) waiting.add(command.client);
    }
    const fewest = Math.min(...Array.from(waiting, heldBy));
    // Of more, some wait for a thread, and those at the model may all be of one client.
    const areAllThere = this.losses === 0 && this.open.size <= MOST_AT_MODEL;
    for (const ask of this.open.values()) {
      const { command, begun, made, toldAt, madeAt } = ask;
      const isStopped = begun > 0 && command.reads === "stops" && made < (command.parts ?? 0);
      const isInTheWay = areAllThere && isStopped && toldAt === undefined && heldBy(command.client) > fewest;
      ask.inTheWaySince = isInTheWay ? Math.min(ask.inTheWaySince, now) : Number.POSITIVE_INFINITY;
      if (now - Math.max(madeAt, ask.inTheWaySince) <= PATIENCE_MS) continue;
      const who = `the client of request ${command.id}, which does not read`;
      this.#world.violate("S9", `others wait for a place for ${PATIENCE_MS} ms, and ${who}, is not told`);
    }
  }

  #requestOf(ask: HookAsk): InferRequest {
    const { id, client, kind, priority, parts } = ask.command;
    const tensors = createTensors([[kind, createTensor("int32", [1], Int32Array.of(id))]]);
    const memory = {
      grow: (bytes: number) => this.#hold(ask, bytes),
      shrink: (bytes: number) => this.#hold(ask, -bytes),
      partBytes: 0,
    };
    const limits = { client, ...(priority && { priority }) };
    const call = { id: String(id), metadata: {}, limits, signal: ask.signal, memory: memory as never };
    return {
      ...{ signature: { name: "serving_default", spec: undefined }, inputs: { kind: "tensors", tensors }, call },
      ...(parts !== undefined && { parts: this.#sinkOf(ask) }),
    };
  }

  #hold(ask: HookAsk, bytes: number): void {
    const { id } = ask.command;
    if (bytes > 0 && ask.heldBytes + bytes > this.#options.partBytes)
      throw new ServingError("resource_exhausted", "There is no memory, as it should be.");
    ask.heldBytes += bytes;
    if (ask.heldBytes < 0) this.#world.violate("S1", `request ${id} gives back ${-ask.heldBytes} bytes too many`);
  }

  #sinkOf(ask: HookAsk): PartSink {
    const { id, reads } = ask.command;
    const { main } = this.#world.process;
    return {
      write: async ({ outputs }) => {
        if (ask.isWriting) this.#world.violate("S2", `request ${id} gets a part before the one before it was taken`);
        if (ask.isSettled) this.#world.violate("S3", `request ${id} gets a part after its end`);
        ask.isWriting = true;
        this.#take(ask, (outputs as { readonly tensors: Tensors }).tensors);
        if (reads === "slowly" && !this.#world.isHealed) await main.wait(SLOW_MS, `client ${id} reads`);
        if (reads === "stops" && ask.got > 3)
          await new Promise<void>((resolve) => this.#world.onHealed(() => main.enter(resolve)));
        ask.isWriting = false;
      },
      // The server's transports end a client that does not read.
      crowded: () => {
        ask.toldAt = this.#world.time.now;
        this.#world.note(`others wait for the place of request ${id}`);
        if (reads === "stops" && ask.isWriting)
          main.soon(`client ${id} is sent away`, () => this.#leave(ask, "It does not read."));
      },
    };
  }

  #take(ask: HookAsk, { y }: Tensors): void {
    const { id, values = 1 } = ask.command;
    const data = (y as unknown as { readonly data: ArrayLike<number> }).data;
    const [expected, found] = [partOf(id, ask.got), Number(data[0])];
    if (found !== expected || data.length !== values)
      this.#world.violate("S4", `part ${ask.got} of request ${id} is ${found}; expected ${expected}`);
    ask.got++;
  }

  #leave(ask: HookAsk, why: string): void {
    if (ask.isSettled || ask.cancelledAt !== undefined) return;
    const { id } = ask.command;
    ask.cancelledAt = this.#world.time.now;
    ask.signal.abort(new ServingError("cancelled", why));
    // The reason of a thread's end is waited for.
    const ms = this.losses === 0 ? 0 : LOSS_MS;
    this.#world.process.main.after(ms, `client ${id} has left`, () => {
      if (!ask.isSettled) this.#world.violate("H3", `request ${id} does not end with its client`);
    });
  }

  #answered(ask: HookAsk, { outputs, parts }: InferResponse): void {
    const { id, parts: wanted } = ask.command;
    this.#settle(ask, "answered");
    if (ask.begun === 0) this.#world.violate("H4", `request ${id} is answered, and never began`);
    if (wanted !== undefined) {
      if (parts !== wanted || ask.got !== wanted)
        this.#world.violate("S5", `request ${id} ends with ${ask.got} parts, and says ${parts}; expected ${wanted}`);
      return;
    }
    const { y } = (outputs as { readonly tensors: Tensors }).tensors;
    const found = Number((y as unknown as { readonly data: ArrayLike<number> }).data[0]);
    if (found !== answerTo(id))
      this.#world.violate("H4", `request ${id} is answered with ${found}; expected ${answerTo(id)}`);
  }

  #failed(ask: HookAsk, reason: unknown): void {
    const { id } = ask.command;
    this.#settle(ask, reason instanceof ServingError ? reason.code : "fails");
    if (!(reason instanceof ServingError)) this.#world.violate("H5", `request ${id} fails with ${String(reason)}`);
    else if (!this.#isDue(ask, reason)) this.#world.violate("H5", `request ${id} fails: ${reason.message}`);
    else if (
      ask.hasFailed &&
      ask.cancelledAt === undefined &&
      reason.message.includes("as it should") &&
      ask.got !== ask.made
    )
      this.#world.violate("S6", `request ${id} fails after ${ask.made} parts, of which its client has got ${ask.got}`);
  }

  #isDue(ask: HookAsk, { code, message }: ServingError): boolean {
    if (code === "cancelled") return ask.cancelledAt !== undefined;
    if (message.includes("as it should")) return ask.hasFailed || code === "resource_exhausted";
    if (message.includes("has not returned within") || code === "deadline_exceeded") return ask.begun > 0;
    if (message.includes("were replaced") || message.includes("were closed")) return this.reloads > 0;
    return code === "unavailable" && message.startsWith("The request was lost") && this.losses > 0;
  }

  #settle(ask: HookAsk, end: string): void {
    const { id } = ask.command;
    if (ask.isSettled) this.#world.violate("H6", `request ${id} ends twice`);
    ask.isSettled = true;
    this.open.delete(id);
    this.#world.count(end);
    this.#world.note(`request ${id} ends: ${end}${ask.got > 0 ? ` after ${ask.got} parts` : ""}`);
    if (ask.heldBytes !== 0)
      this.#world.violate("S1", `request ${id} ends, and still holds ${ask.heldBytes} bytes of parts`);
  }
}

/** The first value of a part of an answer. */
export function partOf(id: number, number: number): number {
  return 1000 * id + number;
}
