import { ServingError } from "../../errors.ts";
import type { CallScope } from "../call-scope.ts";
import type { Caller, CallKind } from "../caller.ts";

/** A call that lasts, with what it was let in by. */
export interface LiveCall {
  readonly kind: CallKind;
  /** With the headers that it came with. */
  readonly caller: Caller;
  readonly scope: CallScope;
  /** Ends the call with an error. */
  end(reason: ServingError): void;
}

type Enter = (kind: CallKind, caller: Caller) => CallScope | Promise<CallScope>;

/** Calls that last longer than what they were let in by may count. */
export class LiveCalls {
  readonly #enter: Enter;
  readonly #calls = new Set<LiveCall>();

  constructor(enter: Enter) {
    this.#enter = enter;
  }

  /** Adds a call until the returned function is called. */
  add(call: LiveCall): () => void {
    this.#calls.add(call);
    return () => this.#calls.delete(call);
  }

  /** Asks about those whose credentials have expired; about all if something has changed. */
  askAgain(hasChanged: boolean): void {
    for (const call of this.#calls) if (hasChanged || call.scope.isDue) void this.#ask(call);
  }

  async #ask(call: LiveCall): Promise<void> {
    try {
      call.scope.adopt(await this.#enter(call.kind, call.caller));
    } catch (reason) {
      const error = ServingError.from(reason);
      // What cannot be checked now is asked about again later.
      if (error.code !== "unauthenticated" && error.code !== "permission_denied") call.scope.expire();
      else if (this.#calls.delete(call)) call.end(error);
    }
  }
}
