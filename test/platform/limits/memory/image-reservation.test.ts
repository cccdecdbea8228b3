import { once } from "node:events";
import { Worker } from "node:worker_threads";
import sharp from "sharp";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { ImageReservation, reserveImages } from "../../../../src/platform/limits/memory/image-reservation.ts";
import { MemoryBudget } from "../../../../src/platform/limits/memory/memory-budget.ts";
import { threadMemory } from "../../../../src/platform/limits/memory/thread-memory.ts";
import { decodeImage } from "../../../../src/tensor/media/decode-image.ts";
import { builtModule } from "../../../helpers/built-module.ts";

const MB = 1024 * 1024;

let budget: MemoryBudget;
beforeEach(() => {
  budget = new MemoryBudget(100 * MB);
});
afterEach(() => {
  expect(threadMemory.heldBytes).toBe(0);
  budget.close();
});

/** Checks that a promise is settled once everything else that was due has happened. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol();
  await new Promise((resolve) => setImmediate(resolve));
  return (await Promise.race([promise, Promise.resolve(pending)])) !== pending;
}

describe("reserveImages", () => {
  it("lets images in as long as there is room for all, then each in its turn", async () => {
    const [first, second] = [await reserveImages(60 * MB), await reserveImages(40 * MB)];
    expect(threadMemory.heldBytes).toBe(100 * MB);
    const third = reserveImages(50 * MB);
    const small = reserveImages(1 * MB);
    expect(await isSettled(third)).toBe(false);
    expect(await isSettled(small)).toBe(false);
    second.release();
    expect(await isSettled(third)).toBe(false);
    first.release();
    (await third).release();
    (await small).release();
  });

  it("counts what requests hold, and requests count images", async () => {
    const [share, other] = [budget.open(), budget.open()];
    share.grow(70 * MB);
    other.grow(1 * MB);
    const image = await reserveImages(20 * MB);
    const waiting = reserveImages(20 * MB);
    expect(await isSettled(waiting)).toBe(false);
    expect(() => other.grow(15 * MB)).toThrow("The requests under way hold 95420416 bytes");
    const tiny = budget.open();
    tiny.grow(1000);
    tiny.release();
    share.release();
    (await waiting).release();
    image.release();
    other.release();
  });

  it("is under the limits of all servers of the process together, as long as they are there", async () => {
    const second = new MemoryBudget(50 * MB);
    const [first, other] = [budget.open(), second.open()];
    first.grow(90 * MB);
    other.grow(1 * MB);
    const image = await reserveImages(40 * MB);
    expect(() => second.open().check(20 * MB)).toThrow("The requests under way hold 42991616 bytes");
    expect(() => budget.open().check(20 * MB)).toThrow("The requests under way hold 136314880 bytes");
    second.open().check(19 * MB);
    other.release();
    second.close();
    const waiting = reserveImages(1 * MB);
    expect(await isSettled(waiting)).toBe(false);
    image.release();
    (await waiting).release();
    first.release();
  });

  it("lets one image in that is larger than the limit when it is alone, and refuses what is larger by far", async () => {
    const small = await reserveImages(1 * MB);
    const large = reserveImages(200 * MB);
    expect(await isSettled(large)).toBe(false);
    small.release();
    (await large).release();
    await expect(reserveImages(400 * MB)).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringMatching(/^Decoding takes 419430400 bytes of memory, .* raise --max-queue-bytes/),
    });
  });

  it("starts no work for a client that has left, and continues with the next", async () => {
    const first = await reserveImages(90 * MB);
    const controller = new AbortController();
    const left = reserveImages(90 * MB, controller.signal);
    const next = reserveImages(10 * MB);
    controller.abort(new Error("left"));
    await expect(left).rejects.toThrow("left");
    (await next).release();
    await expect(reserveImages(1, controller.signal)).rejects.toThrow("left");
    first.release();
  });

  /** Has all waiting end by a clock that stops until it is told. */
  const stopClock = () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
  };

  it("has an image wait for ten seconds, and no longer, and the next goes on", async () => {
    stopClock();
    const first = await reserveImages(90 * MB);
    const refusal = reserveImages(20 * MB).catch((reason: unknown) => reason);
    await vi.advanceTimersByTimeAsync(5000);
    const next = reserveImages(10 * MB);
    await vi.advanceTimersByTimeAsync(4999);
    expect([await isSettled(refusal), await isSettled(next)]).toEqual([false, false]);
    await vi.advanceTimersByTimeAsync(1);
    expect(await refusal).toMatchObject({
      code: "unavailable",
      message:
        "There was no memory to decode an image for 10 s: the images under way hold 94371840 bytes (--max-queue-bytes 104857600); try again later.",
    });
    (await next).release();
    expect(vi.getTimerCount()).toBe(0);
    first.release();
  });

  it("looks soon for what other threads have freed, and less often later", async () => {
    stopClock();
    for (const [waitedMs, nextMs] of [
      [0, 4],
      [4, 8],
      [60, 64],
      [124, 100],
      [224, 100],
    ] as const) {
      threadMemory.add(90 * MB);
      const waiting = reserveImages(20 * MB);
      await vi.advanceTimersByTimeAsync(waitedMs);
      // As another thread does, of which this one is not told.
      threadMemory.add(-90 * MB);
      await vi.advanceTimersByTimeAsync(nextMs - 1);
      expect(await isSettled(waiting)).toBe(false);
      await vi.advanceTimersByTimeAsync(1);
      expect(await isSettled(waiting)).toBe(true);
      (await waiting).release();
    }
  });

  it("takes an image of a quarter more than the limit and 256 MB, and no byte more", async () => {
    (await reserveImages(381 * MB)).release();
    await expect(reserveImages(381 * MB + 1)).rejects.toMatchObject({ code: "invalid_argument" });
  });

  it("counts what is held once, however often it is changed or released", async () => {
    const image = await reserveImages(10 * MB);
    image.resize(30 * MB);
    expect(threadMemory.heldBytes).toBe(30 * MB);
    image.resize(20 * MB);
    for (let time = 0; time < 2; time++) image.release();
    expect(threadMemory.heldBytes).toBe(0);
  });

  it("gets back what another thread held that was terminated", async () => {
    const code = `
      const { parentPort } = require("node:worker_threads");
      import(${JSON.stringify(builtModule("src/platform/limits/memory/image-reservation.ts"))})
        .then(({ reserveImages }) => reserveImages(${90 * MB}))
        .then(() => parentPort.postMessage("reserved"));
      setInterval(() => {}, 1000);`;
    const worker = new Worker(code, { eval: true });
    await once(worker, "message");
    expect(threadMemory.heldBytes).toBe(90 * MB);
    const waiting = reserveImages(50 * MB);
    expect(await isSettled(waiting)).toBe(false);
    await worker.terminate();
    (await waiting).release();
  });

  it("releases the memory of an unused buffer when a reservation waits for it", async () => {
    const reservation = new ImageReservation(90 * MB);
    reservation.releaseWith(new ArrayBuffer(8));
    (await reserveImages(90 * MB)).release();
  });

  it("counts an image that a hook decodes until the hook has no use for it any more", async () => {
    const canvas = { create: { width: 4000, height: 4000, channels: 3 as const, background: "red" } };
    const png = await sharp(canvas).png().toBuffer();
    const decode = async () => (await decodeImage(png)).data.length;
    expect(await Promise.all([decode(), decode(), decode()])).toEqual([48e6, 48e6, 48e6]);
    expect(threadMemory.heldBytes).toBeGreaterThan(0);
    (await reserveImages(100 * MB)).release();
  });
});
