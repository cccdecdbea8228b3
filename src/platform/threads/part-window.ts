import { MalformedMessage } from "./host-port.ts";

/** Parts of one answer, and bytes of them, that may be sent ahead of what the other side has taken. */
export const WINDOW = { parts: 16, bytes: 1024 * 1024 } as const;

/** The parts of an answer that are on their way, as both sides, and those between them, count them. */
export class PartsAhead {
  #parts = 0;
  #bytes = 0;

  /** True if no more may be sent. */
  get isFull(): boolean {
    return this.#parts >= WINDOW.parts || this.#bytes >= WINDOW.bytes;
  }

  /** Counts a part as sent. */
  sent(bytes: number): void {
    this.#parts++;
    this.#bytes += bytes;
  }

  /** Counts a part as come; throws {@link MalformedMessage} if it does not fit in the window. */
  came(bytes: number): void {
    if (this.isFull) throw new MalformedMessage("it sends more parts than it has room for");
    this.sent(bytes);
  }

  /** Takes back parts that were taken, by the meta of a message; throws {@link MalformedMessage} for more than came. */
  took(meta: unknown): void {
    // By index: in a thread of users' code, lists may no longer be iterable.
    const credit = meta as Credit | undefined;
    const parts = credit?.[0];
    const bytes = credit?.[1];
    if (typeof parts !== "number" || typeof bytes !== "number" || !(parts >= 0 && bytes >= 0) || parts > this.#parts)
      throw new MalformedMessage("it takes more parts than it was sent");
    this.#parts -= parts;
    this.#bytes -= bytes > this.#bytes ? this.#bytes : bytes;
  }
}

type Credit = readonly [parts: unknown, bytes: unknown];

/** Counts the parts of an answer that the other side has not taken yet, so that the sender waits for it. */
export class PartWindow {
  readonly #ahead = new PartsAhead();
  #resume: (() => void) | undefined;

  /** Counts a part as sent; resolves once there is room for another one. */
  async sent(bytes: number): Promise<void> {
    this.#ahead.sent(bytes);
    if (this.#ahead.isFull)
      await new Promise<void>((resolve) => {
        this.#resume = resolve;
      });
  }

  /** Takes back parts that the other side has taken: {@link PartsAhead.took}. */
  credit(meta: unknown): void {
    this.#ahead.took(meta);
    if (this.#ahead.isFull) return;
    this.#resume?.();
    this.#resume = undefined;
  }
}

/** The other end of a {@link PartWindow}: gives credit for half a window at a time. */
export class PartCredit {
  readonly #give: (parts: number, bytes: number) => void;
  /** Came, and no credit was given for them. */
  readonly #ahead = new PartsAhead();
  /** Of these, those that were taken. */
  #takenParts = 0;
  #takenBytes = 0;

  constructor(give: (parts: number, bytes: number) => void) {
    this.#give = give;
  }

  /** Counts a part as come: {@link PartsAhead.came}. */
  came(bytes: number): void {
    this.#ahead.came(bytes);
  }

  /** Counts a part as taken. */
  took(bytes: number): void {
    this.#takenParts++;
    this.#takenBytes += bytes;
    if (this.#takenParts < WINDOW.parts / 2 && this.#takenBytes < WINDOW.bytes / 2) return;
    this.#ahead.took([this.#takenParts, this.#takenBytes]);
    this.#give(this.#takenParts, this.#takenBytes);
    this.#takenParts = this.#takenBytes = 0;
  }
}
