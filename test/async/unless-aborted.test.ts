import { describe, expect, it } from "vitest";
import { unlessAborted } from "../../src/async/unless-aborted.ts";

describe("a promise that a signal may cut short", () => {
  it("settles as it is while the signal is still", async () => {
    const { signal } = new AbortController();
    await expect(unlessAborted(Promise.resolve(1), signal)).resolves.toBe(1);
    await expect(unlessAborted(Promise.reject(new Error("failed")), signal)).rejects.toThrow("failed");
  });

  it("rejects with the signal's reason, however long it would take", async () => {
    const controller = new AbortController();
    const answer = unlessAborted(new Promise(() => {}), controller.signal);
    controller.abort(new Error("gone"));
    await expect(answer).rejects.toThrow("gone");
  });

  it("rejects where that has come before", async () => {
    const signal = AbortSignal.abort(new Error("gone"));
    await expect(unlessAborted(new Promise(() => {}), signal)).rejects.toThrow("gone");
  });
});
