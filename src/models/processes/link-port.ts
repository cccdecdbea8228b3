import { returnMemory } from "../../platform/limits/memory/memory-pool.ts";
import type { Frame } from "../../platform/threads/frame.ts";
import type { HostPort } from "../../platform/threads/host-port.ts";
import type { ProcessLink } from "./process-link.ts";

/** Bytes of plain data of a record: parsing them takes the main thread some 30 ms. */
export const MAX_META_BYTES = 4 * 1024 * 1024;

/** One of the ports of a connection to another process, as a {@link HostPort}. */
export class LinkPort implements HostPort {
  readonly copies = true;
  readonly maxMetaBytes = MAX_META_BYTES;
  readonly #number: number;
  readonly #link: ProcessLink;
  readonly #messageListeners: ((message: unknown) => void)[] = [];
  readonly #closeListeners: (() => void)[] = [];
  #isOpen = true;

  constructor(number: number, link: ProcessLink) {
    this.#number = number;
    this.#link = link;
  }

  post(message: unknown, given: readonly ArrayBuffer[] = []): void {
    if (!this.#isOpen) return;
    this.#link.post(this.#number, message as Frame);
    for (const memory of given) returnMemory(memory);
  }

  onMessage(listener: (message: unknown) => void): void {
    this.#messageListeners.push(listener);
  }

  /** Calls back at once if it is closed already: its process may have ended before anything was sent. */
  onClose(listener: () => void): void {
    if (this.#isOpen) this.#closeListeners.push(listener);
    else listener();
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    for (const listener of this.#closeListeners) listener();
  }

  /** Passes a message of the other process on. */
  deliver(message: Frame): void {
    if (!this.#isOpen) return;
    for (const listener of this.#messageListeners) listener(message);
  }
}
