import { createSilentLogger, type Logger } from "../../src/observability/logger.ts";
import { sliceSettings } from "../../src/platform/limits/settings/server-settings.ts";
import { recordedRequests } from "../../src/protocols/recorded-requests.ts";
import { Executor } from "../../src/serving/executor.ts";
import type { LoadOptions } from "../../src/serving/repository/load-servable.ts";

const noRemote = () => Promise.reject(new Error("no remote in this test"));
const remote = {
  predict: noRemote,
  stream: async function* () {
    yield noRemote();
  },
  close: async () => {},
};

/** Settings under which a test loads models; hooks run in a thread. */
export function loadOptions(log: Logger = createSilentLogger()): LoadOptions {
  const { hooks: thread } = sliceSettings({ hookTimeoutMs: 0, hookStallMs: 0, hookMemoryMb: 512 });
  const recorded = recordedRequests(1024 * 1024);
  const { memory } = new Executor({ loading: { loadThreads: 1, modelMemoryBytes: 0, memoryCheck: false }, log });
  return { remote, memory, log, workers: 1, instances: 1, modelStallMs: 0, thread, recorded };
}
