import { steadyMs } from "./steady-clock.ts";
import type { Timeline } from "./timeline.ts";
import { passedBaggage, passedTraceHeaders, traceHeaders } from "./trace-context.ts";

/** The request that another server is called for. */
interface CallingRequest {
  readonly timeline?: Timeline | undefined;
  readonly metadata: Readonly<Record<string, string>>;
}

/** A call of another server as a part of a request, from its construction to {@link end}. */
export class RemotePart {
  /**
   * Headers that make the other server's spans part of the same trace; those of the
   * request itself if it is not recorded here. The request's baggage goes with them.
   */
  readonly headers: Readonly<Record<string, string>>;
  readonly #timeline: Timeline | undefined;
  readonly #id: string | undefined;
  readonly #start: number;

  constructor({ timeline, metadata }: CallingRequest) {
    this.#timeline = timeline?.at(0);
    this.#id = timeline?.newId();
    this.#start = steadyMs();
    const span = this.#timeline?.span;
    const isTraced = span !== undefined && this.#id !== undefined;
    const trace = isTraced ? traceHeaders({ ...span, spanId: this.#id! }) : passedTraceHeaders(metadata);
    this.headers = { ...trace, ...passedBaggage(metadata) };
  }

  /** Notes the end of the call; `code` = the error's, if it failed. */
  end(address: string, code: string | undefined): void {
    this.#timeline?.add("remote", this.#start, steadyMs(), { id: this.#id, name: address.slice(0, MAX_NAME), code });
  }
}

/** Maximum number of characters of an address. */
const MAX_NAME = 200;
