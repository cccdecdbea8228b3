import { type MalformedListener, MalformedMessage } from "../../threads/host-port.ts";

/** The ports that a model thread answers on, by number. */
export class AttachedPorts {
  readonly #listeners = new Map<number, MalformedListener | undefined>();
  #last = 0;

  /** Returns the port's number. */
  add(onMalformed: MalformedListener | undefined): number {
    this.#listeners.set(++this.#last, onMalformed);
    return this.#last;
  }

  /** `malformed` says what was wrong with the message that ended the port. */
  delete(number: number, malformed: string | undefined): void {
    const onMalformed = this.#listeners.get(number);
    this.#listeners.delete(number);
    if (malformed !== undefined) onMalformed?.(new MalformedMessage(malformed));
  }
}
