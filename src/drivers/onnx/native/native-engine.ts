import type { Logger } from "../../../observability/logger.ts";
import { NativeObject, type Pointer } from "../../../platform/native/bind-functions.ts";
import type { RunLimits } from "../../../platform/native/cancellable-runs.ts";
import { PoolCalls } from "../../../platform/native/pool-calls.ts";
import type { DriverHost } from "../../driver.ts";
import type { OnnxEngine } from "../engine.ts";
import { notOffered, type OnnxOptions, toSessionOptions } from "../session-options.ts";
import { loadSession } from "./load-session.ts";
import { NativeSession } from "./native-session.ts";
import { type NativeContext, openOnnx } from "./open-onnx.ts";
import { listProviders, RECORD_ASSIGNMENT, readAssignment, requireGpu, wantedProviders } from "./providers.ts";

const STUCK =
  "a run whose request is over does not end, and others wait for it; if that goes on for --model-stall, the model is loaded again";

/** A library of ONNX Runtime. */
export interface NativeCopy extends Pick<OnnxEngine, "source" | "device"> {
  /** Its file. */
  readonly library: string;
}

/** ONNX Runtime by its C API. Throws `failed_precondition` if this library cannot be called. */
export function openNativeEngine({ library, source, device }: NativeCopy, logLevel: number): OnnxEngine {
  const context = openOnnx(library, logLevel);
  const providers = listProviders(context);
  return {
    name: "native",
    version: context.version,
    source,
    ...(device !== undefined && { device }),
    providers,
    load: async (path, { options, host, hasBoundedRuns, bytes, defaults }) => {
      const wanted = wantedProviders(options);
      if (wanted.some(({ name }) => !providers.includes(name))) throw notOffered(options.runtime_backend, providers);
      const { custom_op_paths: customOpPaths } = options;
      const settings = { ...toSessionOptions(withThreads(options, host)), customOpPaths, providers: wanted, bytes };
      const load = wanted.length === 0 ? loadSession : loadOnGpu(host.log);
      const session = shareSession(context, host, () => load(context, path, settings));
      return new NativeSession(context, session, {
        hasBoundedRuns,
        defaults,
        staysHere: wanted.length > 0,
        poolCalls: new PoolCalls(host.poolCalls),
        ...toLimits(host),
      });
    },
  };
}

/** Loads a session that has to use the GPU; the log has how many of its operators do. */
function loadOnGpu(log: Logger): typeof loadSession {
  return (context, path, options) => {
    const extra = { ...options.extra, ...(context.assignment && RECORD_ASSIGNMENT) };
    const session = loadSession(context, path, { ...options, extra });
    try {
      const assignment = readAssignment(context, session);
      if (assignment !== undefined)
        log.info("operators on the GPU", { ...requireGpu(assignment, options.providers[0]!) });
      return session;
    } catch (reason) {
      context.api.ReleaseSession(session);
      throw reason;
    }
  };
}

/** The session of this copy of the model: the copies have one, and its weights, in common. */
function shareSession(
  { api }: NativeContext,
  { copies }: Pick<DriverHost, "copies">,
  load: () => Pointer,
): NativeObject {
  if (copies === undefined) return new NativeObject(load(), api.ReleaseSession);
  const shared = new SharedSession(copies.memory);
  return new NativeObject(shared.acquire(load), () => shared.release(api.ReleaseSession));
}

/**
 * Threads for the runs of all copies at once, each of which brings its own: together as many as if each had a session.
 */
function withThreads(options: OnnxOptions, { copies }: Pick<DriverHost, "copies">): OnnxOptions {
  const count = copies?.count ?? 1;
  return { ...options, intra_op_threads: (options.intra_op_threads - 1) * count + 1 };
}

/** A session makes one run at a time. */
function toLimits({ log, reportStuck }: DriverHost): RunLimits {
  let onFreed = () => {};
  const onStuck = () => {
    log.error(STUCK);
    onFreed = reportStuck?.() ?? onFreed;
  };
  return { limit: 1, onStuck, onFreed: () => onFreed() };
}

/**
 * Places in the memory: the session's address as two halves of one, its users, and whether a thread is changing these.
 */
const ADDRESS = 0;
const USERS = 2;
const LOCK = 3;

/** A session that the copies of a model in several threads have in common, so that the process has its weights once. */
export class SharedSession {
  readonly #address: BigUint64Array;
  readonly #cells: Int32Array;

  /** `memory` is what the copies share, zeros at first. */
  constructor(memory: SharedArrayBuffer) {
    this.#address = new BigUint64Array(memory, 0, 1);
    this.#cells = new Int32Array(memory);
  }

  /** The session's address; the first user loads it, while others wait. */
  acquire(load: () => Pointer): Pointer {
    return this.#locked(() => {
      const users = this.#cells[USERS]!;
      if (users === 0) this.#address[ADDRESS] = load();
      this.#cells[USERS] = users + 1;
      return this.#address[ADDRESS]!;
    });
  }

  /** Ends one user's use; the last one frees the session. */
  release(free: (session: Pointer) => void): void {
    this.#locked(() => {
      const users = this.#cells[USERS]! - 1;
      this.#cells[USERS] = users;
      if (users === 0) free(this.#address[ADDRESS]!);
    });
  }

  #locked<Result>(work: () => Result): Result {
    while (Atomics.compareExchange(this.#cells, LOCK, 0, 1) !== 0) Atomics.wait(this.#cells, LOCK, 1);
    try {
      return work();
    } finally {
      Atomics.store(this.#cells, LOCK, 0);
      Atomics.notify(this.#cells, LOCK, 1);
    }
  }
}
