import { invalidArgument, ServingError } from "../../../errors.ts";
import type { CancelSignal } from "../../async/cancel-source.ts";
import { threadMemory } from "./thread-memory.ts";
import { collectAll } from "./young-garbage.ts";

/** Time that an image waits for room, in milliseconds. */
const MAX_WAIT_MS = 10_000;
/**
 * Time between two checks of a waiting image if another thread has freed memory, in
 * milliseconds: the first, and the maximum.
 */
const MIN_CHECK_MS = 4;
const MAX_CHECK_MS = 100;
/** A single image may take this many times the limit, plus this much, while there is no other. */
const ALONE_TIMES = 1.25;
const ALONE_BYTES = 256 * 1024 * 1024;

/** Memory reserved for decoding one image, or the images of one request, and for the result. */
export class ImageReservation {
  #bytes: number;

  /** Counts the bytes without a check if there is room; {@link reserveImages} checks. */
  constructor(bytes: number) {
    this.#bytes = bytes;
    threadMemory.add(bytes);
  }

  /** Changes the number of reserved bytes. */
  resize(bytes: number): void {
    threadMemory.add(bytes - this.#bytes);
    this.#bytes = bytes;
    wakeNext();
  }

  /** Releases the reservation, once. */
  release(): void {
    if (this.#bytes > 0) this.resize(0);
  }

  /** Releases the reservation when the buffer is garbage-collected in this thread. */
  releaseWith(buffer: ArrayBufferLike): void {
    kept++;
    collected.register(buffer, this);
  }
}

/** Reservations that end with their buffers. */
let kept = 0;
const collected = new FinalizationRegistry<ImageReservation>((reservation) => {
  kept--;
  reservation.release();
});

interface Waiting {
  readonly bytes: number;
  readonly resolve: (reservation: ImageReservation) => void;
}

/** In the order of arrival, so that small images do not delay a large one for ever. */
const queue: Waiting[] = [];
let timer: NodeJS.Timeout | undefined;
let checkMs = MIN_CHECK_MS;

/**
 * Resolves once there is room for this many bytes among the images and requests of all threads. Rejects with
 * `invalid_argument` if there can never be room, with `unavailable` after 10 s, and with the signal's reason once
 * that aborts.
 */
export async function reserveImages(bytes: number, signal?: CancelSignal): Promise<ImageReservation> {
  if (signal?.aborted) throw signal.reason;
  assertPossible(bytes);
  if (queue.length === 0 && hasRoom(bytes)) return new ImageReservation(bytes);
  return await wait(bytes, signal);
}

function assertPossible(bytes: number): void {
  const { limitBytes } = threadMemory;
  const most = limitBytes * ALONE_TIMES + ALONE_BYTES;
  if (bytes <= most) return;
  throw invalidArgument(
    `Decoding takes ${bytes} bytes of memory, at most ${most} may be taken for one request; send smaller or fewer images, or raise --max-queue-bytes (${limitBytes}).`,
  );
}

/**
 * A single image is admitted whatever the requests hold, since all of them may be waiting for room for their images.
 */
function hasRoom(bytes: number): boolean {
  return threadMemory.heldBytes === 0 || threadMemory.hasRoom(bytes);
}

function wait(bytes: number, signal: CancelSignal | undefined): Promise<ImageReservation> {
  return new Promise((resolve, reject) => {
    const waiting: Waiting = { bytes, resolve: (reservation) => settle(() => resolve(reservation)) };
    const settle = (then: () => void) => {
      clearTimeout(limit);
      signal?.removeEventListener("abort", cancel);
      const index = queue.indexOf(waiting);
      if (index >= 0) queue.splice(index, 1);
      then();
      wakeNext();
    };
    const cancel = () => settle(() => reject(signal?.reason));
    const limit = setTimeout(() => settle(() => reject(tooLong())), MAX_WAIT_MS);
    signal?.addEventListener("abort", cancel, { once: true });
    queue.push(waiting);
    wakeNext();
  });
}

function tooLong(): ServingError {
  const { heldBytes, limitBytes } = threadMemory;
  return new ServingError(
    "unavailable",
    `There was no memory to decode an image for ${MAX_WAIT_MS / 1000} s: the images under way hold ${heldBytes} bytes (--max-queue-bytes ${limitBytes}); try again later.`,
  );
}

/**
 * Admits the first waiting image, if there is room; then checks again after a while, since other threads do not report
 * what they release.
 */
function wakeNext(): void {
  clearTimeout(timer);
  const [first] = queue;
  if (first === undefined) {
    checkMs = MIN_CHECK_MS;
    return;
  }
  if (hasRoom(first.bytes)) {
    queue.shift();
    first.resolve(new ImageReservation(first.bytes));
    return;
  }
  timer = setTimeout(checkAgain, checkMs);
}

function checkAgain(): void {
  checkMs = Math.min(MAX_CHECK_MS, checkMs * 2);
  // Garbage may be all that is in the way, and V8 would not collect it on its own.
  if (kept > 0) collectAll();
  wakeNext();
}
