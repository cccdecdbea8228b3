import { expect, test } from "vitest";
import { createTensor } from "../../src/tensor/tensor.ts";
import { fakeModel } from "../../src/tools/testing/testing.ts";
import { startServer } from "../helpers/start-server.ts";

test("a stage has a driver as an object, whose model answers over the wire", async () => {
  const driver = fakeModel({ predict: { y: createTensor("float32", [1], Float32Array.of(0.5)) } });
  const { httpUrl } = await startServer({ stages: [{ driver }], http: {}, instances: 2, isolate: true });
  const body = '{"instances": [1]}';
  const answer = await fetch(`${httpUrl}/v1/models/default:predict`, { method: "POST", body });
  expect([await answer.json(), driver.calls.length]).toEqual([{ predictions: [0.5] }, 1]);
});

test("an object that is no driver is refused", async () => {
  const stages = [{ driver: { name: "mine" } as never }];
  await expect(startServer({ stages })).rejects.toThrow(/stages\[0\].driver is .*expected a name, a path, or what/);
});
