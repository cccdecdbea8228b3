import { ServingError } from "../../../src/errors.ts";
import type { ModelHandle } from "../../../src/models/model-handle.ts";
import { CancelSource } from "../../../src/platform/async/cancel-source.ts";
import { createTensor, createTensors, type Tensors } from "../../../src/tensor/tensor.ts";
import type { SceneWorld } from "../threads/scene.ts";
import type { SimulatedWorker } from "../threads/simulated-process.ts";
import { LONGEST_MESSAGE_MS } from "../threads/simulated-thread.ts";
import { type AskModel, answerTo, type SimulatedModel } from "./queue-history.ts";

/** Time in which the end of a thread is known, in milliseconds. */
const LOSS_MS = 50;

/** A request of a client, from its beginning to its end. */
interface Ask {
  readonly command: AskModel;
  readonly sentAt: number;
  readonly signal: CancelSource;
  cancelledAt: number | undefined;
  /** True while a run is under way. */
  isRunning: boolean;
  /** The thread that began it last, and how often one has. */
  begun: number;
  place: RunPlace | undefined;
  /** The moment at which its thread was first seen to have ended while it ran. */
  lostAt: number | undefined;
  isSettled: boolean;
  /** Rows of each other client's later requests that began before it, in the thread of its model. */
  readonly overtaken: Map<number, number>;
  /** Rows of its own client that were under way before it. */
  readonly ahead: number;
  /** Number of times that its model had been reloaded: each time has a queue of its own. */
  readonly generation: number;
}

/** The place of a run. */
interface RunPlace {
  readonly worker: SimulatedWorker;
  readonly model: SimulatedModel;
}

/** All requests of a history, and what must hold for each. */
export class Asks {
  readonly #world: SceneWorld;
  readonly #open = new Map<number, Ask>();
  readonly #all = new Map<number, Ask>();
  /** Times at which threads ended, or were lost. */
  readonly #losses: number[] = [];
  /** Number of times that each model was reloaded. */
  readonly #generations = new Map<string, number>();

  constructor(world: SceneWorld) {
    this.#world = world;
  }

  get open(): readonly string[] {
    return [...this.#open.values()].map(({ command: { id, model } }) => `request ${id} to ${model} is not answered`);
  }

  /** A thread has ended, hangs, or will be taken for one that does. */
  lost(): void {
    this.#losses.push(this.#world.time.now);
  }

  /** A model is another one from now on. */
  reloaded(model: string): void {
    this.#generations.set(model, this.#generationOf(model) + 1);
  }

  #generationOf(model: string): number {
    return this.#generations.get(model) ?? 0;
  }

  begin(command: AskModel, handle: ModelHandle): void {
    const { time, process } = this.#world;
    const { id, model, client, rows, priority, queueTimeoutMs, leavesAfterMs } = command;
    const mine = [...this.#open.values()].filter((one) => one.command.model === model && one.command.client === client);
    const ahead = mine.reduce((sum, one) => sum + one.command.rows, 0);
    const ask: Ask = {
      ...{ command, sentAt: time.now, signal: new CancelSource(), cancelledAt: undefined, ahead },
      ...{ isRunning: false, begun: 0, isSettled: false, overtaken: new Map() },
      ...{ place: undefined, lostAt: undefined, generation: this.#generationOf(model) },
    };
    this.#open.set(id, ask);
    this.#all.set(id, ask);
    const limits = { client, ...(priority && { priority }), ...(queueTimeoutMs && { queueTimeoutMs }) };
    const call = { signature: "serving_default", signal: ask.signal, limits };
    handle.predict(inputsOf(id, rows), call).then(
      (outputs) => this.#answered(ask, outputs),
      (reason) => this.#failed(ask, reason),
    );
    if (leavesAfterMs !== undefined) process.main.after(leavesAfterMs, `client ${id} leaves`, () => this.#leave(ask));
  }

  /** A run of these requests begins. */
  begins(ids: readonly number[], place: RunPlace): void {
    const { worker, model } = place;
    const asks = ids.flatMap((id) => this.#all.get(id) ?? []);
    const { now } = this.#world.time;
    const isCancelled = ({ cancelledAt = now }: Ask) => cancelledAt + 2 * LONGEST_MESSAGE_MS < now;
    if (asks.every(isCancelled) && this.#world.isPrompt(worker.thread))
      this.#world.violate("Q5", `${model.name} runs ${ids}, although the clients have left`);
    for (const ask of asks) {
      if (++ask.begun > 1 && model.maxRows === 0 && !model.isShared)
        this.#world.violate("Q14", `${model.name} begins request ${ask.command.id} a second time`);
      if (ask.isSettled && ask.cancelledAt === undefined && this.#losses.length === 0)
        this.#world.violate("Q6", `${model.name} runs ${ask.command.id}, which is over`);
      if (ask.isRunning && this.#losses.length === 0)
        this.#world.violate("Q7", `${ask.command.id} runs twice at the same time`);
      ask.isRunning = true;
      ask.place = place;
    }
    if (this.#losses.length === 0 && model.instances === 1) this.#countOvertaken(asks, model);
  }

  /** The run of these requests is over. */
  ran(ids: readonly number[]): void {
    for (const id of ids) {
      const ask = this.#all.get(id);
      if (ask !== undefined) ask.isRunning = false;
    }
  }

  /** Checks that a request hears at once of the end of the thread that runs it, unless it may be run again. */
  checkLost(): void {
    const { now } = this.#world.time;
    for (const ask of this.#open.values()) {
      if (!ask.isRunning || ask.place === undefined || ask.place.worker.thread.isAlive) continue;
      const { model, worker } = ask.place;
      ask.lostAt ??= now;
      if (now - ask.lostAt > LOSS_MS && model.maxRows === 0 && !model.isShared)
        this.#world.violate("Q15", `request ${ask.command.id} waits for ${worker.thread.name}, which has ended`);
    }
  }

  /** A client gets its turn however many requests others send after it. */
  #countOvertaken(begun: readonly Ask[], model: SimulatedModel): void {
    for (const waiting of this.#open.values()) {
      if (waiting.command.model !== model.name || waiting.begun > 0 || waiting.cancelledAt !== undefined) continue;
      for (const { command, sentAt, generation } of begun) {
        const { client, rows } = command;
        if (
          generation !== waiting.generation ||
          client === waiting.command.client ||
          sentAt <= waiting.sentAt + 2 * LONGEST_MESSAGE_MS
        )
          continue;
        const sum = (waiting.overtaken.get(client) ?? 0) + rows;
        waiting.overtaken.set(client, sum);
        const most = waiting.ahead + waiting.command.rows + rows + 2 * Math.max(1, model.maxRows) + model.concurrency;
        if (sum > most)
          this.#world.violate(
            "Q8",
            `${sum} rows of client ${client} begin before request ${waiting.command.id} of client ${waiting.command.client}, which came first and has ${waiting.ahead} rows before it`,
          );
      }
    }
  }

  #leave(ask: Ask): void {
    if (ask.isSettled) return;
    ask.cancelledAt = this.#world.time.now;
    ask.signal.abort(new ServingError("cancelled", "The client has left."));
    this.#world.process.main.soon(`client ${ask.command.id} has left`, () => {
      if (!ask.isSettled) this.#world.violate("Q9", `request ${ask.command.id} does not end with its client`);
    });
  }

  #answered(ask: Ask, outputs: Tensors): void {
    const { id, rows } = ask.command;
    this.#settle(ask, "answered");
    const values = Array.from((outputs.y as unknown as { data: Int32Array }).data);
    const expected = Array.from({ length: rows }, (_, row) => answerTo(10 * id + row));
    if (String(values) !== String(expected))
      this.#world.violate("Q10", `request ${id} is answered with ${values}; expected ${expected}`);
    if (ask.begun === 0) this.#world.violate("Q10", `request ${id} is answered, and was never run`);
  }

  #failed(ask: Ask, reason: unknown): void {
    const { id, queueTimeoutMs } = ask.command;
    this.#settle(ask, reason instanceof ServingError ? reason.code : "fails");
    if (!(reason instanceof ServingError)) this.#world.violate("Q11", `request ${id} fails with ${String(reason)}`);
    else if (!this.#isDue(ask, reason))
      this.#world.violate(
        "Q11",
        `request ${id}${queueTimeoutMs ? "" : ", which waits as long as it takes,"} fails: ${reason.message}`,
      );
  }

  #isDue(ask: Ask, { code, message }: ServingError): boolean {
    const { queueTimeoutMs = Number.POSITIVE_INFINITY } = ask.command;
    if (code === "cancelled") return ask.cancelledAt !== undefined;
    if (message.includes("as it should")) return ask.begun > 0;
    if (message.includes("ms in the queue")) return this.#world.time.now - ask.sentAt >= queueTimeoutMs - 0.001;
    return code === "unavailable" && message.startsWith("The request was lost") && this.#losses.length > 0;
  }

  #settle(ask: Ask, end: string): void {
    const { id } = ask.command;
    if (ask.isSettled) this.#world.violate("Q12", `request ${id} ends twice`);
    ask.isSettled = true;
    this.#open.delete(id);
    this.#world.count(end);
    this.#world.note(`request ${id} ends: ${end}`);
  }
}

function inputsOf(id: number, rows: number): Tensors {
  const numbers = Int32Array.from({ length: rows }, (_, row) => 10 * id + row);
  return createTensors([["x", createTensor("int32", [rows, 1], numbers)]]);
}
