import { MalformedMessage } from "./host-port.ts";

/** Parts of one answer, and bytes of them, that may be sent ahead of what the other side has taken. */
const WINDOW = { parts: 16, bytes: 1024 * 1024 } as const;

/** Counts the parts of an answer that the other side has not taken yet, so that the sender waits for it. */
export class PartWindow {
  #parts = 0;
  #bytes = 0;
  #resume: (() => void) | undefined;

  /** Counts a part as sent; resolves once there is room for another one. */
  async sent(bytes: number): Promise<void> {
    this.#parts++;
    this.#bytes += bytes;
    if (this.#isFull)
      await new Promise<void>((resolve) => {
        this.#resume = resolve;
      });
  }

  /** Takes back parts that the other side has taken, by the meta of its message. */
  credit(meta: unknown): void {
    // By index: in a thread of users' code, lists may no longer be iterable.
    const pair = meta as readonly [number, number];
    this.#parts -= pair[0];
    this.#bytes -= pair[1];
    if (this.#isFull) return;
    this.#resume?.();
    this.#resume = undefined;
  }

  get #isFull(): boolean {
    return this.#parts >= WINDOW.parts || this.#bytes >= WINDOW.bytes;
  }
}

/** The other end of a {@link PartWindow}: gives credit for half a window at a time. */
export class PartCredit {
  readonly #give: (parts: number, bytes: number) => void;
  /** Came, and no credit was given for them. */
  #parts = 0;
  #bytes = 0;
  /** Of these, those that were taken. */
  #takenParts = 0;
  #takenBytes = 0;

  constructor(give: (parts: number, bytes: number) => void) {
    this.#give = give;
  }

  /** Counts a part as come; throws {@link MalformedMessage} if it does not fit in the window. */
  came(bytes: number): void {
    if (this.#parts >= WINDOW.parts || this.#bytes >= WINDOW.bytes)
      throw new MalformedMessage("it sends more parts than it has room for");
    this.#parts++;
    this.#bytes += bytes;
  }

  /** Counts a part as taken. */
  took(bytes: number): void {
    this.#takenParts++;
    this.#takenBytes += bytes;
    if (this.#takenParts < WINDOW.parts / 2 && this.#takenBytes < WINDOW.bytes / 2) return;
    this.#parts -= this.#takenParts;
    this.#bytes -= this.#takenBytes;
    this.#give(this.#takenParts, this.#takenBytes);
    this.#takenParts = this.#takenBytes = 0;
  }
}
