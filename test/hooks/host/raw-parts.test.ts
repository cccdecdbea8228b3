import { writeFileSync } from "node:fs";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { InferResponse } from "../../../src/pipeline/infer-request.ts";
import { rawPayload } from "../../../src/pipeline/run-raw.ts";
import type { Servable } from "../../../src/serving/servable.ts";
import { startHookThreads, startReloadable } from "../../helpers/start-hook-threads.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

/** A request of a route, with the texts of its parts. */
function ask(servable: Servable, path: string, write: () => Promise<void> = async () => {}) {
  const texts: string[] = [];
  const answer = servable.run({
    signature: { name: "", spec: undefined },
    inputs: rawPayload(new Uint8Array(0)),
    raw: { entry: `POST ${path}`, facts: { method: "POST", path, query: "" } },
    call: { id: "1", metadata: {}, signal: new AbortController().signal },
    parts: {
      write: async (part) => {
        texts.push(textOf(part));
        await write();
      },
    },
  });
  answer.catch(() => {});
  return { texts, answer };
}

function textOf({ outputs }: InferResponse): string {
  return outputs.kind === "tensors" ? Buffer.from(outputs.tensors.body?.data as Uint8Array).toString() : "";
}

describe("a route of hooks in a thread", () => {
  test("sends a body in parts, in a window of 16", async () => {
    const servable = await startHookThreads(`
      let made = 0;
      export const rawRequest = [
        { path: "/parts", async *answer() { while (made < 100) yield String(++made); } },
        { path: "/made", answer: () => ({ body: String(made) }) },
      ];`);
    let read = () => {};
    const { texts, answer } = ask(servable, "/parts", () => new Promise((resolve) => (read = resolve)));
    const made = async () => textOf(await ask(servable, "/made").answer);
    await expect.poll(made).toBe("16");
    expect([await made(), texts]).toEqual(["16", ["1"]]);
    const reading = setInterval(() => read(), 0);
    onTestFinished(() => clearInterval(reading));
    expect(await answer).toMatchObject({ parts: 100 });
    expect(texts).toHaveLength(100);
  });

  test("whose hooks were replaced ends its bodies in parts after a while, and no whole answers", async () => {
    const folder = tempFolder({});
    const { servable, file } = await startReloadable(`
      import { existsSync } from "node:fs";
      import { setTimeout } from "node:timers/promises";
      const isDue = () => existsSync(${JSON.stringify(folder)} + "/go");
      async function* wait(isLate) {
        while (!isDue()) { await setTimeout(5); if (!isLate) yield "a"; }
        yield "late";
      }
      export const rawRequest = [
        { path: "/parts", answer: () => wait(false) },
        { path: "/late", answer: () => wait(true) },
        { path: "/whole", async answer() { while (!isDue()) await setTimeout(5); return { body: "whole" }; } },
      ];`);
    const [parts, late, whole] = ["/parts", "/late", "/whole"].map((path) => ask(servable, path)) as [
      Asked,
      Asked,
      Asked,
    ];
    await expect.poll(() => parts.texts.length).toBeGreaterThan(2);
    writeFileSync(file, 'export const rawRequest = { path: "/new", answer: () => ({ body: "new" }) };');
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const reloaded = servable.reload();
    await expect.poll(() => servable.description.hooks?.entries).toEqual(["POST /new"]);
    vi.advanceTimersByTime(26_000);
    const replaced = { code: "unavailable", message: expect.stringContaining("The hooks were replaced") };
    await expect(parts.answer).rejects.toMatchObject(replaced);
    writeFileSync(`${folder}/go`, "");
    await expect(late.answer).rejects.toMatchObject(replaced);
    expect(textOf(await whole.answer)).toBe("whole");
    vi.useRealTimers();
    await reloaded;
  });
});

type Asked = ReturnType<typeof ask>;
