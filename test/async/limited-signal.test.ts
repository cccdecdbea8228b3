import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { limitedSignal } from "../../src/async/limited-signal.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

test.each(["alone", "beside another signal"])("a time limit %s holds while garbage is collected", async (kind) => {
  const signal = limitedSignal(kind === "alone" ? undefined : new AbortController().signal, 50);
  const aborted = new Promise((resolve) => signal.addEventListener("abort", () => resolve(signal.reason.name)));
  const collecting = setInterval(collectGarbage, 10);
  try {
    expect(await aborted).toBe("TimeoutError");
  } finally {
    clearInterval(collecting);
  }
});

test("the given signal ends it before its time, with its reason", () => {
  const controller = new AbortController();
  const signal = limitedSignal(controller.signal, 60_000);
  controller.abort("enough");
  expect(signal.reason).toBe("enough");
});

test("a signal without a limit never aborts by itself", () => {
  expect(limitedSignal(undefined, undefined).aborted).toBe(false);
});
