import { expect, it } from "vitest";
import { createDeferred } from "../../src/platform/async/promises.ts";
import { manage, pipelineVersion } from "./manage.ts";

it("does not unload what another model has come to need while a load of it was prepared", async () => {
  const scanned = createDeferred<void>();
  const half = { name: "half", versions: [pipelineVersion(1n)] };
  const manager = await manage([half], { refresh: (name) => (name === "half" ? scanned.promise : Promise.resolve()) });
  const loaded = manager.load("half");
  const refused = expect(manager.unload("half")).rejects.toMatchObject({ code: "failed_precondition" });
  manager.aspire([half, { name: "chain", versions: [{ ...pipelineVersion(1n), needs: ["half"] }] }]);
  scanned.resolve();
  await Promise.all([loaded, refused]);
  await manager.settled();
  expect(manager.statuses().map(({ state }) => state)).toEqual(["AVAILABLE", "AVAILABLE"]);
  await manager.close();
});
