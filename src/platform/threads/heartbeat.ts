import { atomicAdd, atomicLoad, atomicStore } from "./own-built-ins.ts";

/** Time between two heartbeats of a thread's event loop, in milliseconds. */
const BEAT_MS = 100;

/**
 * Starts to count the turns of this thread's event loop in memory that another thread can read. Returns a function that
 * pauses it.
 */
export function startHeartbeat(memory: SharedArrayBuffer): PauseHeartbeat {
  const beats = new Int32Array(memory);
  let pauses = 0;
  const beat = () => {
    if (pauses === 0) atomicAdd(beats, 0, 1);
  };
  beat();
  setInterval(beat, BEAT_MS).unref();
  return () => {
    pauses++;
    return () => {
      pauses--;
    };
  };
}

/** Makes a thread look unresponsive: its event loop turns, but its work hangs. Returns a function that ends that. */
export type PauseHeartbeat = () => () => void;

/** A thread's heartbeat, watched from another thread. */
export class HeartbeatWatch {
  /** To be passed to {@link startHeartbeat} in the watched thread. */
  readonly memory: SharedArrayBuffer;
  readonly #timer: NodeJS.Timeout | undefined;

  /**
   * Calls back once for each period of `stallMs` without a beat, from the first beat on; 0 = never. The start of a
   * thread does not count, nor does time in which this thread did not run either.
   */
  constructor(stallMs: number, onStall: () => void, memory = new SharedArrayBuffer(4)) {
    this.memory = memory;
    if (stallMs === 0) return;
    const beats = new Int32Array(this.memory);
    let seen = 0;
    let since = performance.now();
    let checkedAt = since;
    const checkEachMs = Math.max(BEAT_MS / 2, stallMs / 4);
    const check = () => {
      const now = performance.now();
      // A process that was stopped goes on with this check, before the watched thread can beat.
      if (now - checkedAt > 2 * checkEachMs) since = now;
      checkedAt = now;
      const count = atomicLoad(beats, 0);
      const stalled = count > 0 && count === seen && now - since > stallMs;
      if (count !== seen || stalled) [seen, since] = [count, now];
      if (stalled) onStall();
    };
    this.#timer = setInterval(check, checkEachMs);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** Number of bits in the ids of requests, which then begin again. */
const ID_MASK = 0x3fffffff;

/**
 * Mark of the last request that a host started, in shared memory that outlives the host. It answers requests in the
 * order of their ids.
 */
export class StartMark {
  /** To be passed to the other thread. */
  readonly memory: SharedArrayBuffer;
  readonly #lastId: Int32Array;

  constructor(memory = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.memory = memory;
    this.#lastId = new Int32Array(memory);
  }

  /** To be called before any work for the request. */
  start(id: number): void {
    atomicStore(this.#lastId, 0, id);
  }

  /** Checks if a sent request was started. */
  hasStarted(id: number): boolean {
    const ahead = (id - atomicLoad(this.#lastId, 0)) & ID_MASK;
    return ahead === 0 || ahead > ID_MASK / 2;
  }
}
