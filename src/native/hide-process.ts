import { CAPABILITIES, hasCapability, READING } from "../machine/capabilities.ts";
import { bindFunctions } from "./bind-functions.ts";
import { processLibrary } from "./process-library.ts";

const PR_SET_DUMPABLE = 4;
const PR_CAPBSET_DROP = 24;

/** A variable that says yes to debuggers. */
const DEBUGGABLE = "KSERVING_DEBUGGABLE";

/**
 * Has Linux refuse this process's memory, environment and open files to other processes, those of the same user too: no
 * debugger attaches, and a crash leaves no core dump. What this thread starts gets no right to read any process either,
 * as root has outside of containers. Does nothing on other systems, and where `--debuggable` is given.
 */
export function hideProcess(): void {
  if (process.platform !== "linux" || /^(?:true|yes|on|1)$/i.test(process.env[DEBUGGABLE] ?? "")) return;
  for (const name of READING) if (hasCapability(name)) prctl(PR_CAPBSET_DROP, CAPABILITIES[name]);
  prctl(PR_SET_DUMPABLE, 0);
}

function prctl(option: number, value: number): void {
  const types = ["int", "int", "size_t", "size_t", "size_t", "size_t"] as const;
  bindFunctions(processLibrary(), { prctl: types }, "The C library").prctl(option, value, 0, 0, 0);
}
