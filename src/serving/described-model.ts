import type { RequestLogOptions } from "./request-log.ts";

/** One model as described by a client that changes which models are served. */
export interface DescribedModel {
  readonly name: string;
  /** An absolute path of this machine, or the address of a remote storage. */
  readonly path: string;
  readonly versions: "all" | { readonly latest: number } | readonly bigint[];
  /** Versions by label. */
  readonly labels: Readonly<Record<string, bigint>>;
  /** Absent = the server's settings. */
  readonly requestLog?: RequestLogOptions;
}
