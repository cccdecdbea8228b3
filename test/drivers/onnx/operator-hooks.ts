/**
 * Hooks that run operator cases by `args.session`, in their own thread: the request
 * names one, the answer is its outcome.
 */
import { defineHooks, type LoadedModel } from "kserving";
import type { SessionHandle } from "../../../src/drivers/onnx/onnx-session.ts";
import type { OnnxValues } from "../../../src/drivers/onnx/onnx-value.ts";
import type { OperatorCase } from "./operator-case.ts";
import { caseOutcome, readCase } from "./operator-outcome.ts";

type Loaded = OperatorCase & { readonly model: Promise<LoadedModel> };

export default defineHooks({
  options: { cases: { type: "string", help: "The cases, as JSON." } },
  init_hook: ({ cases = "[]" }, { loadModel }) => {
    const loaded = (JSON.parse(cases) as OperatorCase[]).map((one): [string, Loaded] => {
      const model = loadModel("onnx", one.modelPath);
      // What it says is the case's outcome.
      model.catch(() => {});
      return [one.name, { ...one, model }];
    });
    return new Map(loaded);
  },
  process: async ({ name }, { global_ctx }) => {
    const one = (global_ctx as Map<string, Loaded>).get(String(name)) as Loaded;
    const outcome = await caseOutcome(readCase(one), async ({ inputs }) => {
      const session = (await one.model).args.session as SessionHandle;
      return (await session.run(inputs as Parameters<SessionHandle["run"]>[0])) as OnnxValues;
    });
    return { outcome };
  },
});
