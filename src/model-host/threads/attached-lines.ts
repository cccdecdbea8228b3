import { type MalformedListener, MalformedMessage } from "../../threads/malformed-message.ts";

/** The lines that a model thread answers on, by number. */
export class AttachedLines {
  readonly #listeners = new Map<number, MalformedListener | undefined>();
  #last = 0;

  /** Returns the line's number. */
  add(onMalformed: MalformedListener | undefined): number {
    this.#listeners.set(++this.#last, onMalformed);
    return this.#last;
  }

  /** `malformed` says what was wrong with the message that ended the line. */
  delete(line: number, malformed: string | undefined): void {
    const onMalformed = this.#listeners.get(line);
    this.#listeners.delete(line);
    if (malformed !== undefined) onMalformed?.(new MalformedMessage(malformed));
  }
}
