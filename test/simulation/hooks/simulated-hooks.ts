import type { Driver, PartsModel } from "../../../src/drivers/driver.ts";
import { ServingError } from "../../../src/errors.ts";
import { toHooks, validateHooks } from "../../../src/hooks/hook-set.ts";
import type { HookCommand, HookEvent, HookThreadData } from "../../../src/hooks/host/hook-protocol.ts";
import { runAnyRequest } from "../../../src/hooks/host/run-request.ts";
import { parseHostOptions } from "../../../src/models/host-options.ts";
import { hostModel } from "../../../src/models/hosted-model.ts";
import { createModelClient, type ModelClient } from "../../../src/models/threads/model-client.ts";
import type { ModelSources } from "../../../src/models/threads/thread-models.ts";
import { createSilentLogger } from "../../../src/observability/logger.ts";
import { hookFacts } from "../../../src/pipeline/hook-places.ts";
import { HookClock } from "../../../src/pipeline/hook-times.ts";
import { Pipeline } from "../../../src/pipeline/pipeline.ts";
import { hookEdges } from "../../../src/pipeline/signatures.ts";
import { StartMark, startHeartbeat } from "../../../src/platform/threads/heartbeat.ts";
import { toHostPort } from "../../../src/platform/threads/host-port.ts";
import { Responder } from "../../../src/platform/threads/responder.ts";
import { fromWireError, toWireError } from "../../../src/platform/threads/wire-error.ts";
import { createTensor, createTensors, type Tensors } from "../../../src/tensor/tensor.ts";
import { answerTo } from "../queue/queue-history.ts";
import type { SceneWorld } from "../threads/scene.ts";
import type { SimulatedPort } from "../threads/simulated-port.ts";
import type { SimulatedWorker, ThreadStart } from "../threads/simulated-process.ts";
import { type HookAsks, partOf } from "./hook-asks.ts";
import type { HookEnd, HookHistory } from "./hook-history.ts";

/** The version that the hooks belong to. */
export const SERVED = { model: "m", version: 1n };

/** Requests that a thread has at most, as the pool says, those of kinds of which few run included. */
const MOST_STARTED = 40;

type Start = Extract<HookCommand, { readonly start: unknown }>["start"];
type Inputs = Readonly<Record<string, { readonly data: ArrayLike<number> }>>;
interface HookContext {
  readonly signal: AbortSignal;
}

/** A hook thread's code: how long hooks take, and how they end, chance decides. */
export class SimulatedHooks {
  /** Generators that have begun and not ended. */
  readonly generators = new Map<string, SimulatedWorker>();
  readonly #world: SceneWorld;
  readonly #history: HookHistory;
  readonly #asks: HookAsks;
  readonly #responders = new WeakMap<SimulatedWorker, Responder>();
  readonly #running = new WeakMap<SimulatedWorker, number>();

  constructor(world: SceneWorld, history: HookHistory, asks: HookAsks) {
    this.#world = world;
    this.#history = history;
    this.#asks = asks;
  }

  /** As runHookThread, with hooks of its own. */
  async run({ worker, workerData }: ThreadStart): Promise<void> {
    const data = workerData as HookThreadData;
    const control = new Control(data.control as unknown as SimulatedPort);
    startHeartbeat(data.heartbeat);
    try {
      await this.#work(`start of ${data.url}`, worker, this.#history.startEnds);
      const hooks = validateHooks(toHooks(this.#hooksIn(worker), data.file), data.stageCount, data.file);
      control.say({ declared: { facts: hookFacts(hooks), edges: hookEdges(hooks) } });
      const { start } = await control.next("start");
      const models = start.models.map(({ facts, hookArgs, ports }) =>
        createModelClient({ facts, hookArgs, ports: ports.map((port) => toHostPort(port)) }),
      );
      control.onReconnect(({ stage, instance, port, resend }) =>
        models[stage]?.reconnect(instance, toHostPort(port), resend),
      );
      const loaded = await this.#loadMore(control);
      await this.#work(`init of ${data.url}`, worker, this.#history.startEnds);
      const close = this.#serve({ start, data, models, hooks, worker });
      control.say({ ready: true });
      await control.next("close");
      await close();
      for (const id of loaded) control.say({ closeModel: id });
      control.say({ closed: true });
    } catch (reason) {
      control.say({ failed: toWireError(reason) });
    }
  }

  #serve({ start, data, models, hooks, worker }: ServeParts): () => Promise<void> {
    const { hookTimeoutMs } = data;
    const clock = new HookClock(data.stageCount, data.times);
    const never = () => Promise.reject(new Error("There is no other."));
    const services = { remote: {} as never, findOther: never, log: createSilentLogger(), clock };
    const pipeline = new Pipeline({
      served: start.served,
      models,
      hooks,
      globalCtx: undefined,
      hookTimeoutMs,
      ...services,
    });
    const responder: Responder = new Responder(toHostPort(start.requests), {
      answer: (request, signal) => runAnyRequest(pipeline, request, { signal, onError: () => {}, responder }),
      startMark: new StartMark(data.started),
    });
    this.#responders.set(worker, responder);
    return async () => {
      await pipeline.close();
      responder.close();
      for (const model of models) await model.close();
    };
  }

  async #loadMore(control: Control): Promise<readonly number[]> {
    const ids = Array.from({ length: this.#history.loads }, (_, index) => index + 1);
    for (const id of ids) {
      control.say({ loadModel: { id, driver: "null", path: `more ${id}`, options: {} } });
      const { loadedModel } = await control.next("loadedModel");
      if (loadedModel.failed !== undefined) throw fromWireError(loadedModel.failed);
    }
    return ids;
  }

  #hooksIn(worker: SimulatedWorker): Record<string, unknown> {
    const { parted } = this.#history;
    if (parted === "model") return { postprocess: (outputs: unknown) => outputs };
    const makeParts = this.#parts.bind(this);
    if (parted === "hooks")
      return {
        async *process(inputs: Inputs, ctx: HookContext) {
          yield* makeParts(inputs, ctx, worker);
        },
      };
    return {
      process: async (inputs: Inputs, { signal }: HookContext) => {
        const id = idOf(inputs);
        this.#asks.begins(id, worker.thread);
        const running = (this.#running.get(worker) ?? 0) + 1;
        this.#running.set(worker, running);
        if (running > MOST_STARTED) this.#world.violate("H12", `${running} requests run in ${worker.thread.name}`);
        try {
          await this.#work(`request ${id}`, worker, this.#history.runEnds, signal);
        } finally {
          this.#running.set(worker, (this.#running.get(worker) ?? 0) - 1);
        }
        return { y: Int32Array.of(answerTo(id)) };
      },
    };
  }

  /** Sources of a model's thread in place of a driver's code: a model that answers in parts. */
  sourcesIn(worker: SimulatedWorker): ModelSources {
    const model: PartsModel = {
      signatures: { serving_default: {} },
      concurrency: this.#history.concurrency,
      predictStream: (inputs, { signal }) => this.#tensors(inputs as Inputs, worker, signal),
      close: async () => {},
    };
    const driver: Driver = { name: "null", options: {}, load: async () => model };
    return {
      importDriver: async () => driver,
      loadModel: async ({ path }, log) => {
        await this.#work(`load of ${path}`, worker, {});
        const preprocess = () => Promise.reject(new Error("There are no images."));
        return hostModel(model, { driver: "null", path, loadMs: 0, log, choices: parseHostOptions({}), preprocess });
      },
    };
  }

  async *#tensors(inputs: Inputs, worker: SimulatedWorker, signal: AbortSignal): AsyncGenerator<Tensors> {
    const id = idOf(inputs);
    this.#asks.begins(id, worker.thread);
    for await (const { y } of this.partsOf(id, worker, signal))
      yield createTensors([["y", createTensor("int32", [y.length], y)]]);
  }

  async *#parts(inputs: Inputs, { signal }: HookContext, worker: SimulatedWorker) {
    const id = idOf(inputs);
    this.#asks.begins(id, worker.thread);
    yield* this.partsOf(id, worker, signal);
  }

  /** The parts of a request's answer, whoever makes them. */
  async *partsOf(id: number, worker: SimulatedWorker, signal: AbortSignal): AsyncGenerator<{ y: Int32Array }> {
    const ask = this.#asks.of(id);
    const { parts = 0, values = 1 } = ask.command;
    const title = `generator of request ${id} in ${worker.thread.name}`;
    const random = this.#world.chanceOf(`parts of ${id}`);
    const badAt = random.below(2 * parts + 1);
    this.generators.set(title, worker);
    try {
      for (let number = 0; number < parts; number++) {
        if (number === badAt) await this.#work(`request ${id}`, worker, this.#history.runEnds, signal);
        const ms = random.of(this.#history.partMs);
        if (ms > 0) await worker.thread.wait(ms, `part ${number} of request ${id}`);
        const most = this.#world.isHealed ? parts : 3 * 16 + 4;
        if (ask.made - ask.got > most)
          this.#world.violate("S7", `${ask.made} parts of request ${id} are made, of which ${ask.got} were read`);
        ask.made++;
        ask.madeAt = this.#world.time.now;
        yield { y: new Int32Array(values).fill(partOf(id, number)) };
      }
    } finally {
      this.generators.delete(title);
    }
  }

  /** Some work in a thread; may end it. */
  async #work(
    name: string,
    worker: SimulatedWorker,
    ends: Readonly<Partial<Record<HookEnd, number>>>,
    signal?: AbortSignal,
  ): Promise<void> {
    const { thread } = worker;
    const random = this.#world.chanceOf(name);
    const ms = random.of(this.#history.delays);
    const drawn = random.weighted<HookEnd>({
      ...{ ok: 1, fails: 0, blocks: 0, spins: 0, exits: 0, crashes: 0, waits: 0, closes: 0, ...ends },
    });
    const end = this.#world.isHealed ? "ok" : drawn;
    this.#world.note(`${name} in ${thread.name}: ${end} (${ms} ms)`);
    if (end === "blocks") await thread.block(ms, name).over;
    else if (end === "spins") {
      this.#asks.losses++;
      const { over, end } = thread.block(Number.POSITIVE_INFINITY, name);
      // One that runs native code is not terminated; hook threads are.
      if (thread.name.startsWith("model")) this.#world.onHealed(end);
      await over;
    } else if (end === "waits") await this.#never(thread, signal);
    else await thread.wait(ms, name);
    if (end === "exits" || end === "crashes") await this.#die(worker, end);
    if (end === "closes") {
      this.#asks.losses++;
      this.#responders.get(worker)?.close();
    }
    if (end !== "fails") return;
    const ask = /^request (\d+)$/.exec(name);
    if (ask !== null) this.#asks.of(Number(ask[1])).hasFailed = true;
    throw new ServingError("internal", "It fails as it should.");
  }

  async #die(worker: SimulatedWorker, end: "exits" | "crashes"): Promise<void> {
    this.#asks.losses++;
    if (end === "exits") worker.die(1);
    else worker.die(1, new Error("It crashes."));
    await new Promise(() => {});
  }

  /** Until nobody waits for it. */
  async #never(thread: SimulatedWorker["thread"], signal: AbortSignal | undefined): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      // In another thread's turn, what follows would be lost with that.
      this.#world.onHealed(() => thread.enter(resolve));
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
  }
}

interface ServeParts {
  readonly start: Start;
  readonly data: HookThreadData;
  readonly models: readonly ModelClient[];
  readonly hooks: ReturnType<typeof validateHooks>;
  readonly worker: SimulatedWorker;
}

/** The commands of the main thread, each kind for who waits for it. */
class Control {
  readonly #port: SimulatedPort;
  readonly #waiting = new Map<string, (command: never) => void>();
  #reconnect: (replaced: Extract<HookCommand, { reconnect: unknown }>["reconnect"]) => void = () => {};

  constructor(port: SimulatedPort) {
    this.#port = port;
    port.on("message", (command: HookCommand) => {
      if ("reconnect" in command) this.#reconnect(command.reconnect);
      else this.#waiting.get(Object.keys(command)[0] ?? "")?.(command as never);
    });
  }

  say(event: HookEvent): void {
    this.#port.postMessage(event);
  }

  onReconnect(reconnect: (replaced: Extract<HookCommand, { reconnect: unknown }>["reconnect"]) => void): void {
    this.#reconnect = reconnect;
  }

  next<Key extends "start" | "close" | "loadedModel">(
    key: Key,
  ): Promise<Extract<HookCommand, { readonly [K in Key]: unknown }>> {
    return new Promise((resolve) => this.#waiting.set(key, resolve));
  }
}

function idOf(inputs: Inputs): number {
  return Number((inputs.x ?? inputs.z)?.data[0]);
}
