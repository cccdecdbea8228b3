/** Choice of the requests whose traces are recorded, which may be changed while the server runs. */
export interface TraceSampling {
  /** False = nothing is recorded, whatever clients record. */
  isOn: boolean;
  /** Part of the traces that begin here which is recorded, from 0 to 1. */
  ratio: number;
  /** Number of requests that are still recorded; Infinity = no limit. */
  left: number;
  /** The part at the start. */
  readonly firstRatio: number;
  /** Memory by which other threads sample alike, now and after each change; absent = they cannot. */
  readonly shared?: SharedArrayBuffer;
}
