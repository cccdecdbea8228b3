import type { LoadJob } from "./load-job.ts";
import type { LoadMeter } from "./load-meter.ts";
import type { Sender } from "./sender.ts";

/** The parts that a loop works with. */
export interface LoopParts {
  readonly job: LoadJob;
  readonly sender: Sender;
  readonly meter: LoadMeter;
}

/** Decides when requests are sent. */
export interface Loop {
  /** Resolves once it has begun, which may take a thread's start. */
  readonly begun: Promise<void>;
  /** Requests that are due and not sent. */
  readonly backlog: number;
  /** Sends no further requests, and measures none. */
  stop(): void;
}
