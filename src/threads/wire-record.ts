import type { Tensors } from "../tensor/tensor.ts";

/**
 * One message between hosts: its kind and id, small plain data, and tensors. All members are required: an absent one
 * would be looked up in Object.prototype, which user code may extend.
 */
export interface WireRecord {
  /** Kind of the message; each pair of hosts has its own list of kinds. */
  readonly kind: number;
  /** Id of the request that it belongs to, below 2^31. */
  readonly id: number;
  /** Plain JSON data; undefined = none. */
  readonly meta: unknown;
  readonly tensors: Tensors | undefined;
}
