import { Readable } from "node:stream";
import { describe, expect, it, vi } from "vitest";
import type { RawRoute } from "../../src/hooks/hooks.ts";
import type { InferResponse } from "../../src/pipeline/infer-request.ts";
import { rawPayload } from "../../src/pipeline/run-raw.ts";
import { createDeferred } from "../../src/platform/async/promises.ts";
import { loadPipeline } from "../helpers/run-pipeline.ts";

/** Runs a route of hooks in this thread; its parts are texts. */
async function open(answer: RawRoute["answer"], signal = new AbortController().signal) {
  const { servable } = await loadPipeline({ hooks: { rawRequest: { path: "/a", answer } } });
  const texts: string[] = [];
  const parts = {
    write: async ({ outputs }: InferResponse) => {
      if (outputs.kind === "tensors") texts.push(Buffer.from(outputs.tensors.body?.data as Uint8Array).toString());
    },
  };
  const request = {
    signature: { name: "", spec: undefined },
    inputs: rawPayload(new Uint8Array(0)),
    raw: { entry: "POST /a", facts: { method: "POST", path: "/a", query: "" } },
    call: { id: "1", metadata: {}, signal },
  };
  return { servable, texts, run: () => servable.run({ ...request, parts }), runOnce: () => servable.run(request) };
}

describe("a body in parts", () => {
  it("is refused where one answer is taken", async () => {
    const { runOnce } = await open(async function* () {
      yield "a";
    });
    await expect(runOnce()).rejects.toMatchObject({ code: "unimplemented" });
  });

  it.each<[string, (body: unknown) => unknown, boolean]>([
    ["alone where one answer is taken", (body) => body, false],
    ["where one answer is taken", (body) => ({ body }), false],
    ["with a wrong status", (body) => ({ status: 7, body }), true],
    ["with a wrong type", (body) => ({ contentType: "", body }), true],
  ])("that no one begins is ended: %s", async (_, give, isInParts) => {
    const stream = Readable.from(["a"]);
    let isLeft = false;
    const leave = async () => {
      isLeft = true;
      return { done: true, value: undefined };
    };
    const iterator = { next: leave, return: leave, [Symbol.asyncIterator]: () => iterator };
    for (const body of [stream, iterator]) {
      const { run, runOnce } = await open(() => give(body) as ReturnType<RawRoute["answer"]>);
      await expect(isInParts ? run() : runOnce()).rejects.toThrow();
    }
    expect([stream.destroyed, isLeft]).toEqual([true, true]);
  });

  it("that comes after its request has ended is ended", async () => {
    const [go, abort] = [createDeferred<void>(), new AbortController()];
    const stream = Readable.from(["a"]);
    const late = async () => {
      await go.promise;
      return { body: stream };
    };
    const { run } = await open(late, abort.signal);
    const ended = run();
    abort.abort();
    await expect(ended).rejects.toMatchObject({ code: "cancelled" });
    expect(stream.destroyed).toBe(false);
    go.resolve();
    await expect.poll(() => stream.destroyed).toBe(true);
  });

  it("that says to be events begins with a comment if its first one takes long", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const go = createDeferred<void>();
      const slow = async function* () {
        await go.promise;
        yield { data: 1 };
      };
      const [told, untold] = [
        await open(() => ({ contentType: "text/event-stream", body: slow() })),
        await open(() => slow()),
      ];
      const ends = [told.run(), untold.run()];
      await vi.advanceTimersByTimeAsync(15_000);
      expect([told.texts, untold.texts]).toEqual([[": ping\n\n"], []]);
      go.resolve();
      expect((await Promise.all(ends)).map(({ parts }) => parts)).toEqual([2, 1]);
      expect([told.texts.at(-1), untold.texts]).toEqual(["data: 1\n\n", ["data: 1\n\n"]]);
    } finally {
      vi.useRealTimers();
    }
  });

  it("ends with its hooks, whose end waits for it", async () => {
    const begun = createDeferred<void>();
    let isOver = false;
    const { servable, run } = await open(async function* (_, { signal }) {
      try {
        yield "a";
        begun.resolve();
        await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      } finally {
        isOver = true;
      }
    });
    const ended = run();
    await begun.promise;
    const closed = servable.close();
    await expect(ended).rejects.toMatchObject({ code: "unavailable" });
    await closed;
    expect(isOver).toBe(true);
  });

  it("that is not in parts is one answer", async () => {
    const { run, texts } = await open(() => ({ body: "whole" }));
    const { status, parts } = await run();
    expect([status, parts, texts]).toEqual([200, undefined, []]);
  });
});
