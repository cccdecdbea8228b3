import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { getEnvironmentData, setEnvironmentData } from "node:worker_threads";

/** Number of bytes that may be allocated before a collection. */
const COLLECTED_BYTES = 4 * 1024 * 1024;

/** V8's collector; without options it collects the whole heap. */
type Collect = (options?: { readonly type: "minor" }) => void;

let made = 0;
let collect: Collect | undefined;

/** Key of the data that threads inherit. */
const PERMISSION = "kserving.collects";

/**
 * Lets this thread, and those that it starts later, ask V8 to collect garbage: only for a process of the command line.
 * V8's flags apply to the whole process, and an embedder's are not changed.
 */
export function permitCollections(): void {
  setEnvironmentData(PERMISSION, true);
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

/** Bytes that make V8 mark the whole heap soon, where it cannot be asked to: they are never touched, and take no memory. */
const PRESSURE_BYTES = 128 * 1024 * 1024;

/**
 * Collects all garbage, which takes as long as marking all living objects; immediately where that is permitted,
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
