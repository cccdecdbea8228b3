import { getEnvironmentData, setEnvironmentData } from "node:worker_threads";

/** Numbers that all threads of a process see. */
export interface ProcessCells {
  readonly cells: Int32Array;
  /** True in the thread that made them. */
  readonly isNew: boolean;
}

/** The cells that this thread inherited under a name, else new ones, zero, which threads that it starts inherit. */
export function openProcessCells(name: string, count: number): ProcessCells {
  const inherited = getEnvironmentData(name);
  if (inherited instanceof SharedArrayBuffer) return { cells: new Int32Array(inherited), isNew: false };
  const shared = new SharedArrayBuffer(count * Int32Array.BYTES_PER_ELEMENT);
  setEnvironmentData(name, shared);
  return { cells: new Int32Array(shared), isNew: true };
}
