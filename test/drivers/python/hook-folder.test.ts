import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { warmNumpy } from "../../helpers/warm-python.ts";

const python = warmNumpy("Python code beside hooks");

const HOOKS = `
import { defineHooks } from "kserving";
export default defineHooks({
  init_hook: async (params, ctx) => ctx.loadModel("python", "", { python: params.python, model_class: "beside:Twice" }),
  postprocess: ({ x }, ctx) => ctx.global_ctx.predict({ x }),
});`;

const BESIDE = `
class Twice:
    def predict(self, inputs):
        return {"y": inputs["x"] * 2}
`;

describe.skipIf(python === undefined)("a hook that loads a model in Python", () => {
  it.each([0, 1])("has its class in the hook file's own folder, with %d workers", async (workers) => {
    const folder = tempFolder({ "hooks.ts": HOOKS, "beside.py": BESIDE });
    const { httpUrl } = await startServer({
      stages: [{ driver: "null" }],
      hooks: join(folder, "hooks.ts"),
      options: { python: python as string },
      workers,
    });
    const body = JSON.stringify({ inputs: [{ name: "x", datatype: "FP32", shape: [2], data: [1, 2] }] });
    const response = await fetch(`${httpUrl}/v2/models/default/infer`, { method: "POST", body });
    expect(await response.json()).toMatchObject({ outputs: [{ name: "y", data: [2, 4] }] });
  });
});
