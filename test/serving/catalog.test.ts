import { describe, expect, test } from "vitest";
import type { Catalog } from "../../src/serving/catalog.ts";
import { manage, pipelineVersion } from "./manage.ts";

async function catalogOf(...servables: [name: string, version: bigint][]): Promise<Catalog> {
  const aspired = [...new Set(servables.map(([name]) => name))].map((name) => ({
    name,
    versions: servables.flatMap(([own, version]) => (own === name ? [pipelineVersion(version, { name })] : [])),
  }));
  return (await manage(aspired)).catalog;
}

describe("a reference means", () => {
  test("the version asked for, else the highest", async () => {
    const catalog = await catalogOf(["m", 1n], ["m", 10n], ["m", 9n]);
    expect(catalog.resolve({ model: "m" }).version).toBe(10n);
    expect(catalog.resolve({ model: "m", version: 9n }).version).toBe(9n);
  });

  test("the highest version where it says 0, unless there is a version 0", async () => {
    expect((await catalogOf(["m", 1n], ["m", 2n])).resolve({ model: "m", version: 0n }).version).toBe(2n);
    expect((await catalogOf(["m", 0n], ["m", 2n])).resolve({ model: "m", version: 0n }).version).toBe(0n);
  });

  test("the highest version where it says 0, once version 0 has been replaced", async () => {
    const manager = await manage([{ name: "m", versions: [pipelineVersion(0n)] }]);
    manager.aspire([{ name: "m", versions: [pipelineVersion(1n)] }]);
    await manager.settled();
    expect(manager.statuses()).toMatchObject([{ version: 1n, state: "AVAILABLE" }, { version: 0n }]);
    await expect.poll(() => manager.statuses()[1]?.state, { timeout: 20_000 }).toBe("END");
    expect(manager.catalog.resolve({ model: "m", version: 0n }).version).toBe(1n);
  });

  test("the only model where the name is the alias, unless a model has that name", async () => {
    const versions = [pipelineVersion(1n)];
    const { catalog } = await manage([{ name: "m", versions }], { alias: "default" });
    expect(catalog.resolve({ model: "default" }).model).toBe("m");
    expect(() => catalog.resolve({ model: "other" })).toThrow("Latest(other)");
    const { catalog: two } = await manage(
      [
        { name: "m", versions },
        { name: "n", versions },
      ],
      { alias: "default" },
    );
    expect(() => two.resolve({ model: "default" })).toThrow("Latest(default)");
    const { catalog: named } = await manage(
      [
        { name: "m", versions },
        { name: "default", versions },
      ],
      { alias: "default" },
    );
    expect(named.resolve({ model: "default" }).model).toBe("default");
  });

  test("the only model where the name is empty", async () => {
    expect((await catalogOf(["m", 1n])).resolve({ model: "" }).model).toBe("m");
  });
});

describe("what there is not is refused in TensorFlow Serving's words", () => {
  test.each([
    [
      { model: "n" },
      "not_found",
      'Servable not found for request: Latest(n). Did you mean "m"? This server has m, other.',
    ],
    [
      { model: "m", version: 5n },
      "not_found",
      "Servable not found for request: Specific(m, 5). Model m has version 1.",
    ],
    [{ model: "m", label: "stable" }, "invalid_argument", "Unrecognized servable version label: stable"],
    [{ model: "" }, "invalid_argument", "ModelSpec has no name specified. This server has m, other."],
  ])("%o", async (ref, code, message) => {
    const catalog = await catalogOf(["m", 1n], ["other", 1n]);
    expect(() => catalog.resolve(ref)).toThrow(expect.objectContaining({ code, message }));
  });

  test("and a version twice", async () => {
    await expect(catalogOf(["m", 1n], ["m", 1n])).rejects.toMatchObject({ code: "invalid_argument" });
  });
});

test("version 0 that is there takes no part in the rules for requests without a version", async () => {
  const traffic = {
    split: { targets: [{ version: 1n, weight: 1 }], stickyInputs: ["x"] },
    shadow: { version: 1n, share: 1 },
  };
  const { catalog } = await manage([{ name: "m", versions: [pipelineVersion(0n), pipelineVersion(1n)], traffic }]);
  for (const version of [undefined, 1n, 0n]) {
    const ref = { model: "m", ...(version !== undefined && { version }) };
    const isRouted = version === undefined;
    expect([catalog.stickyInputs(ref), catalog.shadowOf(ref)?.name]).toEqual(
      isRouted ? [["x"], "m"] : [undefined, undefined],
    );
  }
});
