import { expect, onTestFinished, test } from "vitest";
import { LaneMark } from "../../../src/models/fast-lane/lane-mark.ts";
import { createDeferred } from "../../../src/platform/async/promises.ts";

/** Milliseconds between the looks of these tests. */
const EVERY_MS = 2;

test("a run that does not end is reported once, over the memory that both threads have", async () => {
  const mark = new LaneMark();
  const reported = createDeferred<void>();
  let reports = 0;
  const onHang = () => {
    reports++;
    reported.resolve();
  };
  onTestFinished(new LaneMark(mark.memory).watch(onHang, EVERY_MS));
  mark.flip();
  await reported.promise;
  await looks();
  expect(reports).toBe(1);
});

test("a model that is not running, however long, is not reported", async () => {
  const mark = new LaneMark();
  let reports = 0;
  onTestFinished(mark.watch(() => reports++, EVERY_MS));
  mark.flip();
  mark.flip();
  await looks();
  expect(reports).toBe(0);
});

/** As many looks as a report needs, and some more. */
async function looks(): Promise<void> {
  for (let look = 0; look < 20; look++) await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
}
