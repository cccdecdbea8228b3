import type { Caller } from "../../access/caller.ts";
import type { ClientGate } from "../../access/client-gate.ts";
import type { ClientKey } from "../../access/client-key.ts";
import type { RpcClient } from "../../threads/rpc-client.ts";
import { ENTER, LEAVE } from "./listener-messages.ts";

const NOTHING = { tensors: undefined, signal: undefined, transfer: false } as const;

/** The main thread's gate, for the calls that a listener answers itself. */
export class ListenerGate implements ClientGate {
  readonly #client: RpcClient;
  readonly #key: ClientKey;

  constructor(client: RpcClient, key: ClientKey) {
    this.#client = client;
    this.#key = key;
  }

  async enter(caller: Caller): Promise<() => void> {
    const { meta } = await this.#client.ask({ kind: ENTER, meta: this.#key(caller), ...NOTHING });
    let isOver = false;
    return () => {
      if (!isOver) this.#client.ask({ kind: LEAVE, meta, ...NOTHING }).catch(() => {});
      isOver = true;
    };
  }

  /** Streams are passed on, and paced by the main thread. */
  pace(_caller: Caller, messages: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    return messages;
  }
}
