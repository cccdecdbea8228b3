import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { keepCertificate } from "../../src/server/open-tls.ts";
import { createEventLog } from "../helpers/event-log.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const CHECK_MS = 10_000;

test("each problem of the files is logged once, and again after it was gone", async () => {
  const { log, events } = createEventLog();
  let refresh = async (): Promise<boolean> => {
    throw new Error("the private key is not that of the certificate.");
  };
  const stop = keepCertificate({ refresh: () => refresh(), validityProblem: () => undefined }, () => [], log);
  await vi.advanceTimersByTimeAsync(3 * CHECK_MS);
  expect(events).toMatchObject([{ level: "error", msg: "the new certificate is not used; the old one stays" }]);
  const failing = refresh;
  refresh = async () => false;
  await vi.advanceTimersByTimeAsync(CHECK_MS);
  refresh = failing;
  await vi.advanceTimersByTimeAsync(2 * CHECK_MS);
  stop();
  await vi.advanceTimersByTimeAsync(CHECK_MS);
  expect(events.length).toBe(2);
});

test("a certificate that ends soon is logged, and once more when it has ended", async () => {
  const { log, events } = createEventLog();
  let problem = { isSoon: true, text: "the certificate expires on Monday" };
  const stop = keepCertificate({ refresh: async () => false, validityProblem: () => problem }, () => [], log);
  expect(events).toMatchObject([{ level: "warn", msg: problem.text }]);
  await vi.advanceTimersByTimeAsync(2 * CHECK_MS);
  problem = { isSoon: false, text: "the certificate expired on Monday: clients refuse it" };
  await vi.advanceTimersByTimeAsync(2 * CHECK_MS);
  stop();
  expect(events.slice(1)).toMatchObject([{ level: "error", msg: problem.text }]);
});
