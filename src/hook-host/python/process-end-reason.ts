import { ServingError } from "../../errors.ts";
import { LOST_THREAD } from "../../lost-process.ts";

/** The end of a Python process that was not closed. */
export interface ProcessEnd {
  /** As a text that can follow "the process". */
  readonly why: string;
  /** The hook file. */
  readonly file: string;
  /** Reason for killing it, where that was for its hooks. */
  readonly stuck: ServingError | undefined;
}

/** The errors for the requests that ran in the process, and for the log. */
export function processEndReason({ why, file, stuck }: ProcessEnd): {
  readonly forClient: ServingError;
  readonly forLog: ServingError;
} {
  const details = [LOST_THREAD];
  if (stuck !== undefined)
    return { forClient: new ServingError(stuck.code, stuck.message, { details }), forLog: stuck };
  const message = `The request was lost: the hooks' Python process ${why}. Send it again.`;
  return {
    forClient: new ServingError("unavailable", message, { details }),
    forLog: new ServingError("unavailable", `${file}: its Python process ${why}; ${adviceFor(why)}`),
  };
}

function adviceFor(why: string): string {
  if (why.startsWith("ended")) return "does it call os._exit? Raise an error instead.";
  if (why.startsWith("crashed")) return "a library that the hooks use failed in native code.";
  return "does it need more memory than there is?";
}
