import type { Logger } from "../../observability/logger.ts";
import type { ServedVersion } from "../../server/served-version.ts";
import type { StageSummary } from "../../server/stage-summary.ts";
import type { InFlight } from "../../serving/admission.ts";
import type { StageOptions } from "../../serving/repository/stage.ts";
import type { ModelSummary } from "./model-table.ts";

/** Facts about a started program, for the people who started it. */
export interface ReadyFacts {
  /** The model's name; absent if the models run elsewhere. */
  readonly name?: string;
  /** As a client on this machine reaches it, never a wildcard. */
  readonly grpcAddress: string;
  /** As a client on this machine reaches it; absent if HTTP is off. */
  readonly httpUrl?: string;
  /** The page for people; absent if there is none. */
  readonly pageUrl?: string;
  /** Empty if the models run elsewhere, or have names. */
  readonly stages: readonly StageSummary[];
  /** True if the model of that name answers in parts; absent = it does not, or is not known. */
  readonly decoupled?: boolean;
  /** The named models; absent if there is one pipeline, or none. */
  readonly models?: readonly ModelSummary[];
}

/** Reports the program's status to the person or program that started it. */
export interface StatusReporter {
  /** Sees what the log gets: returns the log to use; absent = it does not. */
  watchLog?(log: Logger): Logger;
  loading(models: readonly StageOptions[]): void;
  ready(facts: ReadyFacts): void;
  /** A shell line with a valid request, and its heading; absent = it is not used. */
  example?(heading: string, line: string): void;
  /** The state of a named model's version has changed; absent = it is not used. */
  changed?(version: ServedVersion): void;
  /** The server is not ready any more, and answers requests for so many milliseconds. */
  retiring(delayMs: number): void;
  /** New requests are refused; so many are under way. */
  draining(count: number): void;
  stopped(): void;
  /** Stopping failed: these requests are cut off. */
  cutOff(requests: readonly InFlight[], why: string): void;
}
