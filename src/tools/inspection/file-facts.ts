/** Facts about a model from its files, before anything loads it. */
export interface FileFacts {
  /** The format with its version, as its users call it: `ONNX, IR version 8`. */
  readonly format: string;
  /** The program that wrote it; absent if it does not say. */
  readonly producer?: string;
  /** Operators or layers by name, with their number; those of other domains as `DOMAIN:NAME`. */
  readonly operators?: ReadonlyMap<string, number>;
  /** Constants by type; absent if the format does not list them. */
  readonly weights?: ReadonlyMap<string, WeightCount>;
  /** Further facts by name, in the file's own words. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** Constants of one type. */
export interface WeightCount {
  readonly tensors: number;
  readonly elements: number;
  readonly bytes: number;
}

/** Adds one to a count. */
export function countOne(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

/** Adds a constant to those of its type. */
export function countWeight(
  weights: Map<string, WeightCount>,
  type: string,
  { elements, bytes }: Omit<WeightCount, "tensors">,
): void {
  const known = weights.get(type) ?? { tensors: 0, elements: 0, bytes: 0 };
  weights.set(type, {
    tensors: known.tensors + 1,
    elements: known.elements + elements,
    bytes: known.bytes + bytes,
  });
}
