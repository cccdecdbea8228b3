import { existsSync, readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { missingListeners } from "../../helpers/missing-listeners.ts";
import { startServer } from "../../helpers/start-server.ts";

const TASKS = "/proc/self/task";
const listeners = missingListeners() === undefined ? 2 : 1;

/** Names of this process's threads, as `top -H` shows them. */
function threadNames(): readonly string[] {
  return readdirSync(TASKS).map((id) => {
    try {
      return readFileSync(`${TASKS}/${id}/comm`, "latin1").trim();
    } catch {
      return "";
    }
  });
}

test.skipIf(!existsSync(TASKS))("the system's tools see the work of a thread in its name", async () => {
  const { httpUrl } = await startServer({
    listeners,
    models: {
      m: { path: "test/fixtures/models/half-plus-two.onnx" },
      h: { stages: [{ driver: "null" }], hooks: "bench/identity-hooks.ts" },
    },
  });
  const body = `{"instances":[${"1,".repeat(100_000)}1]}`;
  expect((await fetch(`${httpUrl}/v1/models/h:predict`, { method: "POST", body })).status).toBe(200);
  const names = threadNames();
  expect(names).toEqual(expect.arrayContaining(["model", "hooks", "codec"]));
  expect(names.includes("listener")).toBe(listeners > 1);
});
