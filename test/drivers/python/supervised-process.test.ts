import { describe, expect, onTestFinished, test } from "vitest";
import type { PartsModel, PredictCall } from "../../../src/drivers/driver.ts";
import { PythonProcess } from "../../../src/drivers/python/python-process.ts";
import { SupervisedProcess } from "../../../src/drivers/python/supervised-process.ts";
import { ServingError } from "../../../src/errors.ts";
import { createSilentLogger } from "../../../src/observability/logger.ts";
import { createDeferred } from "../../../src/platform/async/promises.ts";
import { toTensors } from "../../../src/tensor/plain-value.ts";
import { createEventLog, type EventLog } from "../../helpers/event-log.ts";
import { findPython } from "../../helpers/find-python.ts";
import { loadAnyModel } from "./load-model.ts";

const python = findPython("Python processes that end", ["numpy"]);

/** A process without a model. */
function start(): Promise<PythonProcess> {
  return PythonProcess.start({ python: python as string, threads: 1, timeoutMs: 0, log: createSilentLogger() });
}

describe.skipIf(python === undefined)("a Python process that has ended", () => {
  test("is not waited for by a stream whose signal aborts, and does not get its question later", async () => {
    const [first, second] = [await start(), await start()];
    const again = createDeferred<PythonProcess>();
    const supervised = new SupervisedProcess(first, () => again.promise, createSilentLogger());
    onTestFinished(() => {
      again.resolve(second);
      return supervised.close();
    });
    first.kill();
    await first.ended;
    const abort = new AbortController();
    const asked = supervised.askParts({ op: "open" }, abort.signal).next();
    abort.abort(new ServingError("cancelled", "gone"));
    await expect(asked).rejects.toThrow("gone");
    again.resolve(second);
    await expect.poll(() => supervised.pid).toBe(second.pid);
    expect(supervised.load).toBe(0);
  });

  test("is started again at once if it had answered with parts of an answer", async () => {
    const log = createEventLog();
    const options = { python: python as string, model_class: "toy.parts:Counting" };
    const model = (await loadAnyModel("python", "", { options, log: log.log })) as PartsModel;
    const call = { signature: "serving_default", signal: new AbortController().signal } as PredictCall;
    const ask = async () => {
      for await (const _ of model.predictStream(toTensors({ last: 9, fault: "die" }), call));
    };
    for (let count = 0; count < 3; count++) await expect(ask()).rejects.toThrow("Python process ended");
    await expect.poll(() => waits(log)).toEqual([100, 100, 100]);
  });
});

/** Milliseconds before each start. */
function waits(log: EventLog): unknown[] {
  return log.events.flatMap(({ againInMs }) => (againInMs === undefined ? [] : [againInMs]));
}
