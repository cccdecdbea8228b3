import { reasonText } from "../errors.ts";
import { ClientLimits, type ClientRules } from "../limits/client-limits.ts";
import type { Caller } from "./caller.ts";
import type { ClientKey } from "./client-key.ts";

/** Limits of clients, and the property that distinguishes clients. */
export interface ClientGateOptions extends ClientRules {
  readonly key: ClientKey;
  /** Called for each refusal with the client and the reason. */
  readonly onRefused?: (client: string, why: string) => void;
}

/** Lets clients in as far as their limits go. */
export interface ClientGate {
  /**
   * Begins a call; returns its end, which may be called again. Throws, or rejects with, `resource_exhausted` for a
   * client that has reached a limit.
   */
  enter(caller: Caller): (() => void) | Promise<() => void>;
  /** The messages of a stream whose call has {@link enter}ed, at the rate that its client may send. */
  pace(caller: Caller, messages: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
}

/** The gate of this thread, which all transports share. */
export class LocalGate implements ClientGate {
  readonly #key: ClientKey;
  readonly #limits: ClientLimits;
  readonly #onRefused: ClientGateOptions["onRefused"];

  constructor({ key, onRefused, ...rules }: ClientGateOptions) {
    this.#key = key;
    this.#limits = new ClientLimits(rules);
    this.#onRefused = onRefused;
  }

  enter(caller: Caller): () => void {
    return this.enterAs(this.#key(caller));
  }

  /** Begins a call of the client with this key. */
  enterAs(client: string): () => void {
    try {
      return this.#limits.begin(client);
    } catch (reason) {
      this.#onRefused?.(client, reasonText(reason));
      throw reason;
    }
  }

  async *pace(caller: Caller, messages: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    const client = this.#key(caller);
    let isFirst = true;
    for await (const message of messages) {
      const waitMs = isFirst ? 0 : this.#limits.reserve(client);
      isFirst = false;
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs).unref());
      yield message;
    }
  }
}
