import { removeUnderWay } from "../../observability/request-log/under-way-files.ts";
import { removeScratchFiles } from "../../platform/user-module/scratch-file.ts";
import { supervised } from "../supervisor/supervised.ts";

/**
 * Ends the process at once and runs no exit handlers: native code that still runs would abort in them.
 * The shell sees 128 + the signal's number.
 */
export function killSelf(signal: NodeJS.Signals = "SIGKILL"): never {
  supervised()?.enter("ending");
  removeScratchFiles();
  removeUnderWay();
  process.kill(process.pid, signal);
  // Only the first process of a container lives to see this line: the kernel shields it from its own signals.
  process.abort();
}
