/** One model as described by a client that changes which models are served. */
export interface DescribedModel {
  readonly name: string;
  /** An absolute path of this machine. */
  readonly path: string;
  readonly versions: "all" | { readonly latest: number } | readonly bigint[];
  /** Versions by label. */
  readonly labels: Readonly<Record<string, bigint>>;
}
