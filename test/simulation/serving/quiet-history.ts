import type { History } from "./history.ts";

/** A history in which nothing happens and nothing fails, as a beginning of others. */
export const DAY: History = {
  seed: 1,
  limits: {
    loadThreads: 1,
    loadTimeoutMs: 0,
    loadRetries: 0,
    loadRetryMs: 1,
    idleUnloadMs: 0,
    strictReadiness: false,
    allowLabelsForUnavailable: false,
    modelMemory: 0,
  },
  faults: {},
  delays: [2],
  commands: [],
};
