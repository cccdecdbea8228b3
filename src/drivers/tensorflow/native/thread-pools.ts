import { claimForProcess } from "../../../native/process-environment.ts";
import type { Logger } from "../../../observability/logger.ts";
import type { SessionConfig } from "./session-config.ts";

/** Threads of TensorFlow's two pools. */
interface ThreadPools {
  readonly intra: number;
  readonly inter: number;
}

/**
 * Sets the pools' sizes where the configuration does not. TensorFlow makes its pools for the whole process, with the
 * first session: the log says so when an earlier model has decided otherwise.
 */
export function claimThreadPools(config: SessionConfig, defaults: ThreadPools, log: Logger): void {
  config.intraOpParallelismThreads ||= defaults.intra;
  config.interOpParallelismThreads ||= defaults.inter;
  const wanted = `${config.intraOpParallelismThreads} within operators, ${config.interOpParallelismThreads} across them`;
  const actual = claimForProcess("KSERVING_TENSORFLOW_POOLS", wanted);
  if (actual !== wanted)
    log.warn("TensorFlow's threads are those of the first model of the process", { wanted, actual });
}
