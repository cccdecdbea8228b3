import { expect, test } from "vitest";
import { THREADED } from "../../../src/cli/commands/import-serve.ts";
import { DRIVER_NAMES, findDriver } from "../../../src/drivers/registry.ts";

test("a thread is started early for the drivers whose models run in threads", async () => {
  const found = await Promise.all(DRIVER_NAMES.map(findDriver));
  const threaded = found.filter(({ driver }) => driver.placement !== "inline");
  expect(threaded.map(({ driver }) => driver.name)).toEqual(THREADED);
});
