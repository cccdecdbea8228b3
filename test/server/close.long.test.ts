import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createServer } from "../../src/server/server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

/** A run goes on for three seconds, whatever becomes of its request. */
const DRIVER = `
import { defineDriver } from "kserving";
export default defineDriver({
  name: "slow", options: {}, pathless: true,
  load: async () => ({
    signatures: { serving_default: {} },
    predict: (inputs) => new Promise((resolve) => setTimeout(resolve, 3000, inputs)),
    close: async () => {},
  }),
});`;

test("a close does not wait longer than the drain timeout for a run whose client is gone", async () => {
  const driver = join(tempFolder(), "slow.ts");
  writeFileSync(driver, DRIVER);
  const server = await createServer({ stages: [{ driver }], http: {}, requestTimeoutMs: 50, drainTimeoutMs: 100 });
  const answer = await fetch(`${server.httpUrl}/v1/models/default:predict`, { method: "POST", body: '{"inputs": 1}' });
  expect(answer.status).toBe(504);
  await expect(server.close()).rejects.toMatchObject({
    code: "deadline_exceeded",
    message: expect.stringContaining("A model still runs"),
  });
});

/** A run computes without end. */
const ENDLESS = `
import { defineDriver } from "kserving";
export default defineDriver({
  name: "endless", options: {}, pathless: true,
  load: async () => ({
    signatures: { serving_default: { inputs: [{ name: "x", dtype: "float32", shape: [-1, -1] }] } },
    isPure: true,
    predict: async () => { for (;;); },
    close: async () => {},
  }),
});`;

test("neither the start's example nor a close waits for an endless run without a client", async () => {
  const driver = join(tempFolder(), "endless.ts");
  writeFileSync(driver, ENDLESS);
  const server = await createServer({ stages: [{ driver }], drainTimeoutMs: 60_000 });
  expect(await server.exampleInputs()).toMatchObject({ inputs: [{ name: "x", shape: [1, 1] }], ran: false });
  const began = performance.now();
  await server.close().catch(() => {});
  expect(performance.now() - began).toBeLessThan(30_000);
}, 120_000);
