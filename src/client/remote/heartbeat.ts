import { type Client, connectivityState, status } from "@grpc/grpc-js";
import { ServingError } from "../../errors.ts";
import { type CancelSignal, type CancelSource, followSignal } from "../../platform/async/cancel-source.ts";
import { askHealth } from "./grpc-connection.ts";
import { UNREACHABLE } from "./grpc-messages.ts";

/** Times after which a server counts as silent, in milliseconds. */
export interface SilenceTimes {
  /** Between two signs of life that are asked for while calls are under way. */
  readonly askMs: number;
  /** Until an answer, after which the connection is given up. */
  readonly answerMs: number;
}

/** Times of a server's own clients. */
export const SILENCE_TIMES: SilenceTimes = { askMs: 30_000, answerMs: 20_000 };

/** Share of the time between two pings after which a server is asked for its health. */
const BEAT_SHARE = 2 / 3;

/**
 * Asks a server for its health while calls of it are under way, or when told to. Any answer will do, also that there is
 * no such method. HTTP/2's pings find out that a server is silent, but gRPC's servers end a connection on which several
 * of them come within five minutes, unless they have answered something in between; and pings are sent during calls
 * alone.
 */
export class Heartbeat {
  readonly #client: Client;
  readonly #times: SilenceTimes;
  readonly #calls = new Set<CancelSource>();
  #timer: NodeJS.Timeout | undefined;
  #isAsking = false;

  constructor(client: Client, times: SilenceTimes) {
    this.#client = client;
    this.#times = times;
  }

  /** Goes on until a call is over, whose signal also aborts if a server takes the connection and says nothing. */
  async during<Result>(given: CancelSignal, call: (signal: CancelSource) => Promise<Result>): Promise<Result> {
    const { source, leave } = followSignal(given);
    this.#calls.add(source);
    this.#timer ??= setInterval(() => this.ask(), this.#times.askMs * BEAT_SHARE).unref();
    try {
      return await call(source);
    } finally {
      leave();
      this.#calls.delete(source);
      if (this.#calls.size === 0) this.#stop();
    }
  }

  /** Asks once, unless an answer is awaited already. */
  ask(): void {
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      askHealth(this.#client, this.#times.answerMs, (error) => {
        this.#isAsking = false;
        if (error?.code === status.DEADLINE_EXCEEDED) this.#endUnconnected();
      });
    } catch {
      // The client has been closed; calls that were under way go on.
      this.#stop();
    }
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** On a connection pings do so; grpc-js would wait for one without end. */
  #endUnconnected(): void {
    if (this.#client.getChannel().getConnectivityState(false) !== connectivityState.CONNECTING) return;
    for (const source of this.#calls) source.abort(new ServingError("unavailable", UNREACHABLE));
  }
}
