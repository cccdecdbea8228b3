import type { MalformedListener } from "../threads/host-port.ts";
import type { ReconnectListener } from "./model-host.ts";
import type { ModelThread } from "./threads/model-thread.ts";

/** The users of a model's copies in other threads, each of which gets a connection to a copy that was replaced. */
export class CopyUsers {
  readonly #users = new Set<{ readonly listener: ReconnectListener; readonly onMalformed: MalformedListener }>();

  /** Returns a function that removes the user. */
  add(listener: ReconnectListener, onMalformed: MalformedListener): () => void {
    const user = { listener, onMalformed };
    this.#users.add(user);
    return () => this.#users.delete(user);
  }

  /** Connects all of them to the thread that a copy has now. */
  reconnect(instance: number, { connect }: ModelThread, resend: boolean): void {
    for (const { listener, onMalformed } of this.#users) listener(instance, connect(onMalformed), resend);
  }
}
