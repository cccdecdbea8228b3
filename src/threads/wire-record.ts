import type { Tensors } from "../tensor/tensor.ts";

/** One message between hosts: what it is about, small plain data, and tensors. */
export interface WireRecord {
  /** What the message says; each pair of hosts has its own list of kinds. */
  readonly kind: number;
  /** Which exchange it belongs to, below 2^31. */
  readonly id: number;
  /** Plain JSON data; absent = none. */
  readonly meta?: unknown;
  readonly tensors?: Tensors | undefined;
}
