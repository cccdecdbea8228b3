import type { ServerResponse } from "node:http";
import type { Transfer } from "../limits/overload-manager.ts";
import { resetConnection, sentBytesOf, unsentBytesOf } from "../net/node-members.ts";

/** An answer on its way to a client, as the connection shows it. */
export class AnswerTransfer implements Transfer {
  readonly stepBytes = 0;
  readonly #response: ServerResponse;
  readonly #bytes: number;
  /** Bytes of the connection when it was looked at first. */
  #startBytes: number | undefined;

  /** `bytes`: those that it holds. */
  constructor(response: ServerResponse, bytes: number) {
    this.#response = response;
    this.#bytes = bytes;
  }

  get movedBytes(): number {
    const { socket } = this.#response;
    if (socket === null) return 0;
    const sent = sentBytesOf(socket);
    this.#startBytes ??= sent;
    return sent - this.#startBytes;
  }

  get leftBytes(): number {
    const { socket } = this.#response;
    return Math.max(this.#bytes - this.movedBytes, socket === null ? 0 : unsentBytesOf(socket));
  }

  /** False for one that waits behind another, or for its next part. */
  get isClientsTurn(): boolean {
    const { socket } = this.#response;
    return socket !== null && unsentBytesOf(socket) > 0;
  }

  /** By a reset: otherwise the system would keep offering its own buffers. */
  end(): void {
    const { socket } = this.#response;
    if (socket !== null) resetConnection(socket);
  }
}
