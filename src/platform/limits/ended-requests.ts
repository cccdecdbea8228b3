import { openProcessCells } from "./process-cells.ts";

/** Reasons for which requests are ended before their time. */
export const END_REASONS = ["slow", "memory", "place"] as const;
export type EndReason = (typeof END_REASONS)[number];

/** Numbers of requests that were ended, of all servers and threads of the process. */
class EndedRequests {
  readonly #cells = openProcessCells("kserving.ended-requests", END_REASONS.length).cells;

  /** Number of those ended for a reason. */
  of(reason: EndReason): number {
    return Atomics.load(this.#cells, END_REASONS.indexOf(reason));
  }

  /** Counts one. */
  count(reason: EndReason): void {
    Atomics.add(this.#cells, END_REASONS.indexOf(reason), 1);
  }
}

/** The process's one {@link EndedRequests}. */
export const endedRequests = new EndedRequests();

/** A request that was ended, with what it held. */
export interface EndedRequest {
  readonly reason: EndReason;
  readonly direction: "receiving" | "sending";
  readonly client: string;
  readonly bytes: number;
  readonly message: string;
}
