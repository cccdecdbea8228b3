import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { getEnvironmentData, setEnvironmentData } from "node:worker_threads";

/** Bytes that may be allocated before a collection. */
const COLLECTED_BYTES = 4 * 1024 * 1024;

/** V8's collector; without options it collects everything. */
type Collect = (options?: { readonly type: "minor" }) => void;

let made = 0;
let collect: Collect | undefined;

/** Key of the data that threads inherit. */
const PERMISSION = "kserving.collects";

/**
 * Lets this thread, and those that it starts from now on, ask V8 to collect: for a process that is the command line's own. V8's
 * flags are the whole process's, and an embedder's are not changed.
 */
export function permitCollections(): void {
  setEnvironmentData(PERMISSION, true);
}

/**
 * Says that buffers of so many bytes were made that are of no use any more. V8 keeps such memory outside its heap and looks for
 * it only when there are 64 MB of it, by marking everything that lives, which takes tens of milliseconds; collecting the young
 * objects before it comes to that takes less than one, and large bodies cost half the processor time.
 */
export function countGarbage(bytes: number): void {
  made += bytes;
  if (made < COLLECTED_BYTES) return;
  made = 0;
  collector()?.({ type: "minor" });
}

/** Bytes that make V8 mark everything soon, where it cannot be asked: they are never touched, and take no memory. */
const PRESSURE_BYTES = 128 * 1024 * 1024;

/**
 * Collects everything that is of no use any more, which takes as long as there are living objects to mark; at once where that is
 * permitted, else V8 does so in its own time.
 */
export function collectAll(): void {
  const collectNow = collector();
  if (collectNow === undefined) new ArrayBuffer(PRESSURE_BYTES);
  else collectNow();
}

/** Undefined in a process that is an embedder's. */
function collector(): Collect | undefined {
  if (collect === undefined && getEnvironmentData(PERMISSION) === true) collect = findCollector();
  return collect;
}

/** V8 gives its collector to contexts that are made while this flag is set; threads that start later must not get it. */
function findCollector(): Collect {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc");
  setFlagsFromString("--no-expose-gc");
  return gc;
}
