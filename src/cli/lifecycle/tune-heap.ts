import { setFlagsFromString } from "node:v8";
import { permitCollections } from "../../limits/young-garbage.ts";

/** Growth of a heap between two collections of all of it, in percent: the most that V8 chooses itself. */
const GROWTH_PERCENT = 300;

/**
 * Sets what V8 does about large messages, in this process and its threads. V8 counts their buffers with the heap, and where it
 * is small and collections are quick, as in the main thread, it would mark everything after some tens of messages.
 */
export function tuneHeap(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
  permitCollections();
}
