import { expect, onTestFinished, test, vi } from "vitest";
import { RequestMetrics } from "../../src/observability/metrics/request-metrics.ts";
import { RequestRecord } from "../../src/observability/request-record.ts";
import { forgetGone } from "../../src/server/server.ts";
import type { LocalService } from "../../src/serving/local-service.ts";
import type { ModelManager, StateListener } from "../../src/serving/model-manager.ts";
import type { VersionStatus } from "../../src/serving/version-status.ts";

function requestTo(version: bigint): RequestRecord {
  const record = new RequestRecord({});
  record.route = { protocol: "a", method: "predict" };
  record.startTiming();
  record.servedBy("m", version);
  return record;
}

test("counts of versions that are gone are forgotten, though nothing reads the metrics", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const metrics = new RequestMetrics();
  const served = { model: "m", version: 8n };
  const service = { index: () => [served], forgetGone: vi.fn() } as unknown as LocalService;
  let changed: StateListener = () => {};
  const onState = (listener: StateListener) => {
    changed = listener;
    return () => {};
  };
  const stop = forgetGone({ onState } as Partial<ModelManager> as ModelManager, { service, metrics });
  for (let version = 0n; version < 9n; version++) {
    metrics.add(requestTo(version), 200);
    changed({ model: "m", version, state: version < 8n ? "END" : "AVAILABLE" } as VersionStatus);
  }
  expect(metrics.series()).toHaveLength(9);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(metrics.series().map(({ version }) => version)).toEqual(["8"]);
  expect(service.forgetGone).toHaveBeenCalledOnce();
  changed({ state: "END" } as VersionStatus);
  stop();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(service.forgetGone).toHaveBeenCalledOnce();
});
