/**
 * Parts of a model that a client provides for a load instead of those in the model's own folder, as in Triton's API.
 */
export interface LoadOverrides {
  /** A ModelConfig in the JSON form of protobuf. */
  readonly config: string;
  /** Contents by paths in the model's folder; empty = the existing folder. */
  readonly files: ReadonlyMap<string, Uint8Array>;
}
