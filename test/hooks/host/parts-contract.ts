import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createDeferred } from "../../../src/platform/async/promises.ts";
import { CollectedParts, runParts } from "../../helpers/collect-parts.ts";
import { ask, type HookThreadsOptions, startHookThreads, startReloadable } from "../../helpers/start-hook-threads.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

/** Hook files in one language. */
interface HooksInParts {
  /**
   * Yields `number` from 1 on, as far as `x` says, and writes to files of a folder at which number it was `asked` and
   * has `left`. A broken one fails at 4 with "no paper".
   */
  readonly counting: (folder: string, isBroken?: boolean) => string;
  /** Does the same of plain numbers, after it has set the header `x-kind` to `count`. */
  readonly heading: string;
  /** Yields `x` with 50 numbers from 0 on, and lets others run meanwhile. */
  readonly patient: string;
  /** Answers once with the `number` 7. */
  readonly plain: string;
  readonly start: HookThreadsOptions;
}

const upTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1);
const numbersOf = ({ parts }: CollectedParts) => parts.map(({ number }) => number);
const textOf = (path: string) => readFileSync(path, "utf8");

/** Tests what generators in hook threads have in common, whatever their language. */
export function answersInParts({ counting, heading, patient, plain, start }: HooksInParts): void {
  test("answers in parts, which come before their end, however many there are", async () => {
    const servable = await startHookThreads(counting(tempFolder({})), start);
    expect(servable.description.decoupled).toBe(true);
    for (const last of [0, 1, 3, 16, 17, 300]) {
      const sink = new CollectedParts();
      expect((await runParts(servable, { x: last }, sink)).parts).toBe(last);
      expect(numbersOf(sink)).toEqual(upTo(last));
    }
  });

  test("answers JSON in parts of JSON, and what it set besides comes with the first", async () => {
    const servable = await startHookThreads(heading, start);
    const seen: unknown[] = [];
    const parts = {
      write: async ({ outputs, metadata }: { outputs: object; metadata: object }) => {
        seen.push([JSON.parse(Buffer.from((outputs as { json: Uint8Array }).json).toString()), { ...metadata }]);
      },
    };
    const inputs = { kind: "json", json: Buffer.from('{"x": 2}') } as const;
    const call = { id: "1", metadata: {}, signal: new AbortController().signal };
    const end = await servable.run({ signature: { name: "", spec: undefined }, inputs, parts, call });
    expect(end).toMatchObject({ parts: 2, outputs: { kind: "json" } });
    expect(seen).toEqual([
      [{ number: 1 }, { "x-kind": "count" }],
      [{ number: 2 }, {}],
    ]);
  });

  test("is not asked for more than a window of parts ahead of a client that does not read", async () => {
    const folder = tempFolder({});
    const servable = await startHookThreads(counting(folder), { ...start, workers: 1 });
    const room = createDeferred<void>();
    const end = runParts(servable, { x: 100 }, new CollectedParts(() => room.promise));
    await expect.poll(() => textOf(`${folder}/asked`)).toBe("16");
    // Other requests are answered meanwhile, in the same thread: 0 parts are none.
    await expect(ask(servable, { x: 0 })).rejects.toMatchObject({ code: "unimplemented" });
    expect(textOf(`${folder}/asked`)).toBe("16");
    room.resolve();
    expect((await end).parts).toBe(100);
  });

  test("throws after its third part, and the three stand", async () => {
    const folder = tempFolder({});
    const servable = await startHookThreads(counting(folder, true), start);
    const sink = new CollectedParts(() => new Promise((resolve) => setImmediate(resolve)));
    await expect(runParts(servable, { x: 9 }, sink)).rejects.toMatchObject({
      code: "internal",
      message: expect.stringMatching(/^The hook process failed: (ValueError: )?no paper$/),
    });
    expect(numbersOf(sink)).toEqual(upTo(3));
    expect(textOf(`${folder}/left`)).toMatch(/^4\b/);
  });

  test("goes on while its hooks are replaced, and new requests get the new ones", async () => {
    const { servable, file } = await startReloadable(counting(tempFolder({})), start);
    const room = createDeferred<void>();
    const sink = new CollectedParts((count) => (count === 1 ? room.promise : undefined));
    const end = runParts(servable, { x: 40 }, sink);
    await expect.poll(() => sink.parts.length).toBe(1);
    writeFileSync(file, plain);
    const reloaded = servable.reload();
    await expect.poll(() => servable.description.decoupled).toBeUndefined();
    expect(await ask(servable, { x: 1 })).toEqual({ number: 7 });
    room.resolve();
    expect((await end).parts).toBe(40);
    await reloaded;
  });

  test("is one of many at once, none of which gets another's parts", async () => {
    const servable = await startHookThreads(patient, start);
    const ends = Array.from({ length: 60 }, async (_, x) => {
      const sink = new CollectedParts();
      await runParts(servable, { x }, sink);
      expect(sink.parts).toEqual(Array.from({ length: 50 }, (_, number) => ({ x, number })));
    });
    await Promise.all(ends);
  });
}
