import { atomicAdd, atomicLoad } from "./own-built-ins.ts";

/** How often a thread shows that its event loop turns, in milliseconds. */
const BEAT_MS = 100;

/** Counts the turns of this thread's event loop where another thread can see them; the first at once. */
export function startHeartbeat(memory: SharedArrayBuffer): void {
  const beats = new Int32Array(memory);
  const beat = () => atomicAdd(beats, 0, 1);
  beat();
  setInterval(beat, BEAT_MS).unref();
}

/** A thread's heartbeat, watched from another thread. */
export class HeartbeatWatch {
  /** To be passed to {@link startHeartbeat} in the watched thread. */
  readonly memory: SharedArrayBuffer;
  readonly #timer: NodeJS.Timeout | undefined;

  /** Calls back once for each stretch of `stallMs` without a beat, from the first beat on; 0 = never. How long a thread takes to start is no stall. */
  constructor(stallMs: number, onStall: () => void, memory = new SharedArrayBuffer(4)) {
    this.memory = memory;
    if (stallMs === 0) return;
    const beats = new Int32Array(this.memory);
    let seen = 0;
    let since = performance.now();
    const check = () => {
      const now = performance.now();
      const count = atomicLoad(beats, 0);
      const stalled = count > 0 && count === seen && now - since > stallMs;
      if (count !== seen || stalled) [seen, since] = [count, now];
      if (stalled) onStall();
    };
    this.#timer = setInterval(check, Math.max(BEAT_MS / 2, stallMs / 4));
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
