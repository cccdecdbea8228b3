import { describe, expect, test } from "vitest";
import { Catalog } from "../../src/serving/catalog.ts";
import { slotOf } from "./slot-of.ts";

async function catalogOf(...servables: [name: string, version: bigint][]): Promise<Catalog> {
  const catalog = new Catalog();
  for (const [name, version] of servables) catalog.add(await slotOf({ name, version }));
  return catalog;
}

describe("a reference means", () => {
  test("the version asked for, else the highest", async () => {
    const catalog = await catalogOf(["m", 1n], ["m", 10n], ["m", 9n]);
    expect(catalog.resolve({ model: "m" }).version).toBe(10n);
    expect(catalog.resolve({ model: "m", version: 9n }).version).toBe(9n);
  });

  test("the only model where the name is empty", async () => {
    expect((await catalogOf(["m", 1n])).resolve({ model: "" }).name).toBe("m");
  });
});

describe("what there is not is refused in TensorFlow Serving's words", () => {
  test.each([
    [{ model: "n" }, "not_found", "Servable not found for request: Latest(n)"],
    [{ model: "m", version: 5n }, "not_found", "Servable not found for request: Specific(m, 5)"],
    [{ model: "m", label: "stable" }, "invalid_argument", "Unrecognized servable version label: stable"],
    [{ model: "" }, "invalid_argument", "ModelSpec has no name specified."],
  ])("%o", async (ref, code, message) => {
    const catalog = await catalogOf(["m", 1n], ["other", 1n]);
    expect(() => catalog.resolve(ref)).toThrow(expect.objectContaining({ code, message }));
  });

  test("and a version twice", async () => {
    await expect(catalogOf(["m", 1n], ["m", 1n])).rejects.toMatchObject({ code: "already_exists" });
  });
});
