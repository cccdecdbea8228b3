import type { ErrorCode } from "../../errors.ts";
import type { NamedModelOptions } from "../../server/named-model.ts";
import type { ExampleInput } from "../../signature/example-inputs.ts";

/** A model to serve in a process of its own. */
export interface ServeJob {
  readonly name: string;
  readonly model: NamedModelOptions;
}

/** The report of that process: the addresses of the model, or the reason for which it cannot be loaded. */
export type ServeReport =
  | ({ readonly isReady: true } & ServedFacts)
  | { readonly isReady: false; readonly code: ErrorCode; readonly message: string };

/** A model that is served. */
export interface ServedFacts {
  /** `HOST:PORT` of gRPC. */
  readonly grpcAddress: string;
  readonly httpUrl: string;
  /** Driver of the first stage. */
  readonly driver: string;
  /** The runtime with its version and place. */
  readonly runtime?: string;
  /** Inputs of sizes on which the model runs. */
  readonly examples: readonly ExampleInput[];
}
