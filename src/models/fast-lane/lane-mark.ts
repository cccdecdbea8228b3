import { writeSync } from "node:fs";

/** Milliseconds between two looks. */
const EVERY_MS = 1000;
/** Looks at the same run until it counts as one that hangs. */
const LOOKS = 5;
const STANDARD_ERROR = 2;

/** Shared memory in which the main thread shows that it runs a model: odd while it does. */
export class LaneMark {
  /** To be passed to the model's thread. */
  readonly memory: SharedArrayBuffer;
  readonly #count: Int32Array;

  constructor(memory = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.memory = memory;
    this.#count = new Int32Array(memory);
  }

  /** To be called before each run, and after it. */
  flip(): void {
    Atomics.add(this.#count, 0, 1);
  }

  /**
   * Calls back once for each run that hangs, by a timer of the calling thread, which is another one: the main thread
   * cannot report it. Returns how to stop.
   */
  watch(onHang: () => void, everyMs = EVERY_MS): () => void {
    let seen = 0;
    let looks = 0;
    const timer = setInterval(() => {
      const count = Atomics.load(this.#count, 0);
      looks = count === seen && count % 2 !== 0 ? looks + 1 : 0;
      seen = count;
      if (looks === LOOKS) onHang();
    }, everyMs);
    timer.unref();
    return () => clearInterval(timer);
  }
}

/** Writes to standard error, past the logger, which is the main thread's. */
export function reportHang(path: string): void {
  const seconds = (LOOKS * EVERY_MS) / 1000;
  const text = `kserving: a run of ${path} has kept the main thread for ${seconds} seconds; -o fast_lane_us=0 keeps the model in its own thread`;
  writeSync(STANDARD_ERROR, `${text}\n`);
}
