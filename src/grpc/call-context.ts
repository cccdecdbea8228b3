import type { AccessPolicy } from "../access/access-policy.ts";
import type { ClientGate } from "../access/client-gate.ts";
import type { ClientKey } from "../access/client-key.ts";
import type { Logger } from "../observability/logger.ts";
import type { RequestObserver } from "../observability/request-observer.ts";
import type { MemoryBudget } from "../platform/limits/memory/memory-budget.ts";
import type { MemoryPool } from "../platform/limits/memory/memory-pool.ts";
import type { MessageClock } from "./message-clock.ts";
import type { SendWatch } from "./send-watch.ts";

/** Settings and limits that all calls of a server share. */
export interface CallContext {
  /** Size of the largest message, in bytes. */
  readonly maxMessageBytes: number;
  /** Counts the bytes of all requests. */
  readonly memory: MemoryBudget;
  /** Reusable memory for large messages. */
  readonly pool: MemoryPool;
  /** Time in which a message must arrive, in milliseconds. */
  readonly messageTimeoutMs: number;
  /** Ends calls whose message takes longer. */
  readonly clock: MessageClock;
  /** Ends calls whose clients do not read their answers. */
  readonly sends: SendWatch;
  readonly policy: AccessPolicy;
  /** Limits of each client; undefined = there are none. */
  readonly clients: ClientGate | undefined;
  /** Gives the key of a client's account. */
  readonly accountKey: ClientKey;
  /** Is notified of each call that is over. */
  readonly observer: RequestObserver;
  readonly log: Logger;
}
