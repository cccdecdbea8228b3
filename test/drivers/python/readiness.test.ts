import { describe, expect, it } from "vitest";
import { findPython } from "../../helpers/find-python.ts";
import { startServer } from "../../helpers/start-server.ts";
import { IMPORT_PATH } from "./load-model.ts";

const python = findPython("The readiness of Python models", ["numpy"]);

describe.skipIf(python === undefined)("a server with a model in Python", () => {
  it("is not ready while the process is replaced, and answers afterwards", async () => {
    const options = { python: python as string, model_class: "toy.models:Faulty", import_path: IMPORT_PATH };
    const { httpUrl } = await startServer({ stages: [{ driver: "python", options }] });
    const status = async (path: string) => (await fetch(httpUrl + path)).status;
    const ask = (fault: string) => {
      const inputs = [{ name: "fault", datatype: "BYTES", shape: [], data: [fault] }];
      return fetch(`${httpUrl}/v2/models/default/infer`, { method: "POST", body: JSON.stringify({ inputs }) });
    };
    expect(await status("/v2/health/ready")).toBe(200);
    const failed = await ask("kills_itself");
    expect(failed.status).toBe(503);
    expect(await failed.text()).toContain("was killed (SIGKILL)");
    expect(await status("/v2/health/ready")).toBe(400);
    expect((await ask("fine")).status).toBe(200);
    expect(await status("/v2/health/ready")).toBe(200);
  });
});
