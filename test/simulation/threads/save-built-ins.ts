import { syncBuiltinESMExports } from "node:module";
import workerThreads from "node:worker_threads";
import { SimulatedPort } from "./simulated-port.ts";

const { setImmediate } = globalThis;
const { MessagePort } = workerThreads;
const later = ((...args: Parameters<typeof setImmediate>) => {
  const present = globalThis.setImmediate;
  return (present === later ? setImmediate : present)(...args);
}) as typeof setImmediate;

globalThis.setImmediate = later;
Object.assign(workerThreads, { MessagePort: SimulatedPort });
syncBuiltinESMExports();

/** Gives the built-ins back that this module has replaced when it was imported. */
export function restoreBuiltIns(): void {
  globalThis.setImmediate = setImmediate;
  Object.assign(workerThreads, { MessagePort });
  syncBuiltinESMExports();
}
