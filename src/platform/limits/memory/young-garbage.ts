import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { getEnvironmentData, setEnvironmentData } from "node:worker_threads";

/** Number of bytes that may be allocated before a collection. */
const COLLECTED_BYTES = 4 * 1024 * 1024;
/** Growth of a heap between two collections of all of it, in percent: the most that V8 chooses itself. */
const GROWTH_PERCENT = 300;

/** V8's collector; without options it collects the whole heap. */
type Collect = (options?: { readonly type: "minor" }) => void;

let made = 0;
let hasRareMarking = false;
let collect: Collect | undefined;

/** Key of the data that threads inherit. */
const PERMISSION = "kserving.collects";

/**
 * Lets this thread, and those that it starts later, say when V8 collects garbage: only for a process of the command
 * line. V8's flags apply to the whole process, and an embedder's are not changed.
 */
export function permitCollections(): void {
  setEnvironmentData(PERMISSION, true);
}

/**
 * Has V8 mark whole heaps less often, in all threads. It counts the buffers of large messages
 * with the heap, and if that is small, as in the main thread, would mark everything after
 * some tens of them. Young objects, which such messages leave few of, are collected by each thread alone: with a
 * helper that has no core, a collection of 0.3 ms took up to 130. To be called for the first of them: Node compiles
 * its own modules for every thread that starts later, since those in its program are for unchanged flags.
 */
export function markRarely(): void {
  if (hasRareMarking || getEnvironmentData(PERMISSION) !== true) return;
  hasRareMarking = true;
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
  setFlagsFromString("--no-parallel-scavenge");
}

/**
 * Reports unused buffers of this many bytes. V8 keeps such memory outside its heap and collects it only from 64 MB on,
 * by marking the whole heap, which takes tens of milliseconds. Collecting the young objects before that takes less than
 * one; large bodies would otherwise take half of the processor time.
 */
export function countGarbage(bytes: number): void {
  made += bytes;
  if (made < COLLECTED_BYTES) return;
  made = 0;
  collector()?.({ type: "minor" });
}

/**
 * Bytes that make V8 mark the whole heap soon, if it cannot be asked to: they are never touched, and take no memory.
 */
const PRESSURE_BYTES = 128 * 1024 * 1024;

/**
 * Collects all garbage, which takes as long as marking all living objects; immediately if that is permitted,
 * otherwise when V8 decides.
 */
export function collectAll(): void {
  const collectNow = collector();
  if (collectNow === undefined) new ArrayBuffer(PRESSURE_BYTES);
  else collectNow();
}

/** Undefined in an embedder's process. */
function collector(): Collect | undefined {
  if (collect === undefined && getEnvironmentData(PERMISSION) === true) collect = findCollector();
  return collect;
}

/** V8 exposes its collector to contexts that are created while this flag is set; later threads must not get it. */
function findCollector(): Collect {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc");
  setFlagsFromString("--no-expose-gc");
  return gc;
}
