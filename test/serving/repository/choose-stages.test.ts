import { describe, expect, test } from "vitest";
import { type Driver, defineDriver } from "../../../src/drivers/driver.ts";
import type { OptionTable } from "../../../src/drivers/option-table.ts";
import { HOST_OPTIONS, takesHostOption } from "../../../src/models/host-options.ts";
import { createSilentLogger } from "../../../src/observability/logger.ts";
import {
  assertTakesOptions,
  checkOptionKeys,
  type StageChoice,
} from "../../../src/serving/repository/choose-stages.ts";

const driverOf = (name: string, keys: readonly string[]): Driver =>
  defineDriver<Record<string, unknown>>({
    name,
    options: Object.fromEntries(keys.map((key) => [key, { type: "string", help: "" }])),
    load: () => Promise.reject(new Error("not loaded in this test")),
  });

const stage = (driver: Driver, options = {}, number = 1): StageChoice => ({
  number,
  found: { driver, location: { name: driver.name }, dispose: async () => {} } as never,
  options,
});

/** Checks options for a driver that takes `device` and one that takes `prefix.*`; gives the warnings. */
async function check(shared: Record<string, string>, hooks?: { options?: OptionTable }, own = {}): Promise<string[]> {
  const warnings: string[] = [];
  const log = { ...createSilentLogger(), warn: (message: string) => void warnings.push(message) };
  const stages = [stage(driverOf("first", ["device"]), own), stage(driverOf("second", ["graph"]))];
  await checkOptionKeys(shared, stages, hooks, { log });
  return warnings;
}

const COMMON = Object.keys(HOST_OPTIONS).filter((key) => takesHostOption(key, {}));
const TAKES = `first takes device; second takes graph; every driver takes ${COMMON.join(", ")}.`;
const declared: OptionTable = { moods: { type: "string", help: "" }, count: { type: "integer", help: "" } };

describe("a key", () => {
  test("that any driver, the host or the hooks know is taken", async () => {
    expect(await check({ device: "CPU", graph: "g", max_batch_size: "4" })).toEqual([]);
    expect(await check({ device: "CPU", moods: "a" }, { options: declared })).toEqual([]);
  });

  test("for texts is the server's beside texts=true alone, for all models or one", async () => {
    expect(await check({ texts: "true", truncate: "left" })).toEqual([]);
    expect(await check({ texts: "true" }, undefined, { truncate: "left" })).toEqual([]);
    expect(await check({ truncate: "left" }, undefined, { texts: "true" })).toEqual([]);
    await expect(check({ truncate: "left" })).rejects.toThrow(
      '"truncate". It is one of models that take texts: add -o texts=true.',
    );
    await expect(check({}, undefined, { dimensions: "2" })).rejects.toThrow('no option "dimensions"');
    expect(await check({ truncate: "left" }, {})).toMatchObject([expect.stringContaining("it goes to the hooks")]);
  });

  test("that was given for all models may be another driver's, or that of Python hooks", async () => {
    const stages = [stage(driverOf("first", []))];
    const given = { python: "p", requirements: "true", allow_pickle: "true", other: "1" };
    const checked = checkOptionKeys(given, stages, undefined, {
      keysForAll: Object.keys(given),
      log: createSilentLogger(),
    });
    await expect(checked).rejects.toThrow('No driver has the option "other".');
  });

  test("that is unknown is passed to hooks without declarations, with a warning that names the nearest", async () => {
    expect(await check({ devise: "CPU" }, {})).toEqual([
      'No driver knows the option "devise"; it goes to the hooks. Did you mean "device"?',
    ]);
  });

  test("that is unknown is refused where hooks declare theirs, and where there are none", async () => {
    await expect(check({ mood: "a" }, { options: declared })).rejects.toThrow(
      `Neither a driver nor the hooks have the option "mood". Did you mean "moods"? ${TAKES}`,
    );
    await expect(check({ moods: "a" })).rejects.toThrow(`No driver has the option "moods". ${TAKES}`);
  });
});

test("values that the hooks declare are checked before anything is loaded", async () => {
  await expect(check({ count: "many" }, { options: declared })).rejects.toThrow(/count/);
  expect(await check({ count: "3" }, { options: declared })).toEqual([]);
});

test("a family of keys is named as it is written", async () => {
  const driver = { ...driverOf("x", []), options: { session: { type: "prefix", help: "" } } } as Driver;
  expect(() => assertTakesOptions(driver, { sesion: "1" }, "the model m")).toThrow("x takes session.KEY; every driver");
});

test("an option for one stage alone needs that stage's driver, not another's", async () => {
  expect(await check({}, undefined, { device: "CPU" })).toEqual([]);
  await expect(check({}, undefined, { graph: "g" })).rejects.toThrow(
    'The first driver of model 1 has no option "graph". first takes device; every driver takes',
  );
  expect(() => assertTakesOptions(driverOf("x", []), { y: "1" }, "the model m")).toThrow(
    'The x driver of the model m has no option "y". x takes none of its own; every driver takes',
  );
});
