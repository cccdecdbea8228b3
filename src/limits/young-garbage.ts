import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** What may be made until it is collected, in bytes. */
const COLLECTED_BYTES = 4 * 1024 * 1024;

type Collect = (options?: { readonly type: "minor" }) => void;

let made = 0;
let collect: Collect | undefined;

/**
 * Says that buffers of so many bytes were made that are of no use any more. V8 keeps such memory outside its heap and looks for
 * it only when there are 64 MB of it, by marking everything that lives, which takes tens of milliseconds; collecting the young
 * objects before it comes to that takes less than one, and large bodies cost half the processor time.
 */
export function countGarbage(bytes: number): void {
  made += bytes;
  if (made < COLLECTED_BYTES) return;
  made = 0;
  collect ??= findCollector();
  collect({ type: "minor" });
}

/** Collects everything that is of no use any more, which takes as long as there are living objects to mark. */
export function collectAll(): void {
  collect ??= findCollector();
  collect();
}

/** V8 gives its collector to contexts that are made while this flag is set; threads that start later must not get it. */
function findCollector(): Collect {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc");
  setFlagsFromString("--no-expose-gc");
  return gc;
}
