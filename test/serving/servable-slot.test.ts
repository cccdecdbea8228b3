import { describe, expect, it } from "vitest";
import { ServingError } from "../../src/errors.ts";
import type { Servable } from "../../src/serving/servable.ts";
import { ServableSlot } from "../../src/serving/servable-slot.ts";
import { loadPipeline, run } from "../helpers/run-pipeline.ts";

const IDENTITY = { name: "default", version: 1n };

async function load(): Promise<Servable> {
  return (await loadPipeline({})).servable;
}

describe("the place of a model", () => {
  it("keeps what was loaded when it cannot be loaded anew", async () => {
    const first = await load();
    const slot = new ServableSlot(IDENTITY, () => Promise.reject(new ServingError("not_found", "no file")), first);
    await expect(slot.load()).rejects.toThrow("no file");
    expect([slot.servable, slot.unavailableReason]).toEqual([first, ""]);
    const { outputs } = await run(first, { kind: "tensors", tensors: {} });
    expect(outputs.kind).toBe("tensors");
    await slot.unload();
  });

  it("tells why nothing is loaded: it was unloaded, or could not be loaded", async () => {
    let attempts = 0;
    const slot = new ServableSlot(
      IDENTITY,
      () => (attempts++ === 0 ? Promise.reject(new ServingError("not_found", "no file")) : load()),
      await load(),
    );
    await slot.unload();
    expect([slot.servable, slot.unavailableReason]).toEqual([undefined, "unloaded"]);
    await expect(slot.load()).rejects.toThrow("no file");
    expect(slot.unavailableReason).toBe("no file");
    await slot.load();
    expect(slot.unavailableReason).toBe("");
    await slot.unload();
  });

  it("makes one change at a time, in the order in which they were asked for", async () => {
    const slot = new ServableSlot(IDENTITY, load);
    await Promise.all([slot.load(), slot.unload(), slot.load(), slot.load(), slot.unload()]);
    expect(slot.servable).toBeUndefined();
    await slot.load();
    expect(slot.servable?.isReady()).toBe(true);
    await slot.unload();
  });
});
