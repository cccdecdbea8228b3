/** Parts that a client gives for a load in place of those of the model's own folder, as Triton's API has them. */
export interface LoadOverrides {
  /** A ModelConfig in the JSON form of protobuf. */
  readonly config: string;
  /** Contents by paths in the model's folder; empty = the folder that is there. */
  readonly files: ReadonlyMap<string, Uint8Array>;
}
