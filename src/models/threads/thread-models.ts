import type { Driver } from "../../drivers/driver.ts";
import { importDriver } from "../../drivers/registry.ts";
import { reasonText, ServingError } from "../../errors.ts";
import type { Logger } from "../../observability/logger.ts";
import { type PauseHeartbeat, startHeartbeat } from "../../platform/threads/heartbeat.ts";
import type { HostPort } from "../../platform/threads/host-port.ts";
import { createLimitedLogger } from "../../platform/threads/thread-logger.ts";
import { toWireError } from "../../platform/threads/wire-error.ts";
import { LaneMark, reportHang } from "../fast-lane/lane-mark.ts";
import { loadHostedModel } from "../load-hosted-model.ts";
import { factsOf, type ModelHandle } from "../model-handle.ts";
import { openMark, type RunMark } from "../run-mark.ts";
import { ModelServer } from "./model-server.ts";
import type {
  AttachedPort,
  LoadCommand,
  ModelThreadEvent,
  ModelWorkerData,
  ProcessState,
} from "./model-thread-messages.ts";
import { type ModelTurns, ThreadTurns } from "./thread-turns.ts";

type Say = (event: ModelThreadEvent) => void;

/** Sources of a thread's models. */
export interface ModelSources {
  readonly importDriver: typeof importDriver;
  readonly loadModel: typeof loadHostedModel;
}

interface ServedModel {
  readonly model: ModelHandle;
  readonly server: ModelServer;
  readonly unwatch: () => void;
  readonly log: Logger;
}

/** The models of this thread, or process. */
export class ThreadModels {
  readonly #data: ModelWorkerData;
  readonly #say: Say;
  readonly #onStarted: () => void;
  readonly #sources: ModelSources;
  readonly #reportStuck: PauseHeartbeat;
  readonly #turns: ThreadTurns | undefined;
  readonly #models = new Map<number, ServedModel>();
  /** Ends of the loads under way. */
  readonly #loads = new Map<number, AbortController>();

  constructor(
    data: ModelWorkerData,
    say: Say,
    onStarted: () => void,
    sources: ModelSources = { importDriver, loadModel: loadHostedModel },
  ) {
    this.#data = data;
    this.#say = say;
    this.#onStarted = onStarted;
    this.#sources = sources;
    this.#reportStuck = startHeartbeat(data.heartbeat);
    this.#turns = data.running && new ThreadTurns(data.running);
  }

  async load(command: LoadCommand): Promise<void> {
    const { id, name, path, laneMark, mark: place } = command;
    const log = createLimitedLogger(this.#data.logged, (event) => this.#say({ log: event, id }));
    const givingUp = new AbortController();
    this.#loads.set(id, givingUp);
    try {
      const turns = this.#turns?.of(id);
      const mark = place && (await openMark(place, log));
      const driver = loadingInTurn(await this.#sources.importDriver(this.#data.driver), turns, mark);
      this.#onStarted();
      const reportStuck = this.#reportStuck;
      const { poolCalls, driver: location } = this.#data;
      const foreignName = "file" in location ? name : undefined;
      const { signal } = givingUp;
      const source = { ...command, driver, reportStuck, poolCalls, turns, mark, foreignName, signal };
      const model = await this.#sources.loadModel(source, log);
      const server = new ModelServer(model, mark);
      const watch = laneMark && model.isSteady === true && new LaneMark(laneMark).watch(() => reportHang(path));
      const processes =
        driver.placement === "inline" ? watchProcesses(model, (state) => this.#say({ state, id })) : () => {};
      const unwatch = () => {
        processes();
        if (watch) watch();
      };
      this.#models.set(id, { model, server, unwatch, log });
      this.#say({ loaded: { facts: factsOf(model), hookArgs: server.hookArgs }, id });
    } catch (reason) {
      this.#say({ failed: toWireError(reason), id });
    } finally {
      this.#loads.delete(id);
    }
  }

  /** Tells a driver whose model is being loaded that nothing waits for it. */
  giveUp(id: number): void {
    this.#loads.get(id)?.abort(new ServingError("cancelled", "The load was given up."));
  }

  /**
   * The asker may be a hook thread, whose messages are not trusted: the main thread
   * learns which port sent a malformed one.
   */
  attach(port: HostPort, { number, id }: AttachedPort): void {
    const responder = this.#models.get(id)?.server.attach(port);
    // It was freed meanwhile.
    if (responder === undefined) {
      port.close();
      return;
    }
    let malformed: string | undefined;
    responder.onMalformed(({ message }) => {
      malformed = message;
    });
    responder.onClose(() => this.#say({ detached: number, ...(malformed !== undefined && { malformed }) }));
  }

  /** Waits for the runs under way, then frees the model. */
  async unload(id: number): Promise<void> {
    const known = this.#models.get(id);
    this.#models.delete(id);
    known?.unwatch();
    try {
      await known?.server.idle();
      await known?.model.close();
    } catch (reason) {
      known?.log.error(`a model could not be freed: ${reasonText(reason)}`, { err: reason });
    }
    this.#say({ unloaded: id });
  }
}

/** A driver that loads its model in the model's turn, if others share its thread, and with its mark. */
function loadingInTurn(driver: Driver, turns: ModelTurns | undefined, mark: RunMark | undefined): Driver {
  if (turns === undefined && mark === undefined) return driver;
  const load: Driver["load"] = async (...args) => {
    await turns?.begin();
    try {
      mark?.begin();
      return await driver.load(...args);
    } finally {
      mark?.end();
      turns?.end();
    }
  };
  return { ...driver, load };
}

/** Milliseconds between two looks at the processes of a model. */
const LOOK_MS = 200;

/** Tells the state of a model's processes at first, and whenever it has changed; returns a function that ends this. */
function watchProcesses(model: ModelHandle, tell: (state: ProcessState) => void): () => void {
  const read = () => ({ isReady: model.isReady?.() ?? true, pids: model.processIds?.() ?? [] });
  let known = "";
  const look = () => {
    const state = read();
    const text = JSON.stringify(state);
    if (text !== known) tell(state);
    known = text;
  };
  look();
  const timer = setInterval(look, LOOK_MS).unref();
  return () => clearInterval(timer);
}
