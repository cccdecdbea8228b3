import { describe, expect, onTestFinished, test } from "vitest";
import { ServingError } from "../../../src/errors.ts";
import type { Hooks, InitContext } from "../../../src/hooks/hooks.ts";
import { loadPipeline } from "../../helpers/run-pipeline.ts";
import { startHookThreads } from "../../helpers/start-hook-threads.ts";

const start = (init_hook: (params: unknown, ctx: InitContext) => unknown) =>
  loadPipeline({ hooks: { init_hook } as Hooks });

describe("an init_hook that fails is named with its file, as a failed start", () => {
  test.each([
    ["an Error", new Error("no labels"), "failed_precondition", "no labels"],
    ["a text", "no labels", "failed_precondition", "no labels"],
    ["an object without a text", Object.create(null), "failed_precondition", "(a value that has no text)"],
    ["a ServingError, whose code stays", new ServingError("unavailable", "no disk"), "unavailable", "no disk"],
    ["one that blames its caller", new ServingError("invalid_argument", "no disk"), "failed_precondition", "no disk"],
  ])("by %s", async (_, reason, code, message) => {
    const throwing = () => {
      throw reason;
    };
    await expect(start(throwing)).rejects.toMatchObject({
      code,
      message: `The hooks object: init_hook failed: ${message}`,
      cause: reason,
    });
  });

  test("by never returning, after ten times --hook-timeout", async () => {
    const source = "export const init_hook = () => new Promise(() => {});";
    await expect(startHookThreads(source, { hookTimeoutMs: 10 })).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(
        /^init_hook of \S+hooks\.ts has not returned within 100 ms \(10 times --hook-timeout\)/,
      ),
    });
  });
});

test("init_hook gets what was given as text, and the defaults of declared options that were not", async () => {
  const seen: unknown[] = [];
  const hooks: Hooks = {
    options: {
      factor: { type: "number", default: 2, help: "" },
      loud: { type: "boolean", default: false, help: "" },
      top: { type: "integer", default: 5, help: "" },
      labels: { type: "string", help: "" },
    },
    init_hook: (params) => void seen.push(params),
    preprocess: (inputs) => inputs,
  };
  await loadPipeline({ hooks, options: { top: "3" } });
  expect(seen).toEqual([{ factor: "2", loud: "false", top: "3", model_path: "", model_paths: [""] }]);
});

describe("loadModel refuses", () => {
  const usage = 'expected ctx.loadModel("onnx", "model.onnx", { option: "text" }).';

  test.each<[string, unknown[], string]>([
    ["no arguments", [], `loadModel got undefined as driver; ${usage}`],
    ["a driver that is no text", [{ driver: "onnx" }], `loadModel got an object as driver; ${usage}`],
    ["no path", ["onnx"], `loadModel got undefined as path; ${usage}`],
    ["an empty path", ["onnx", ""], "The onnx driver needs a model; expected its path in loadModel."],
    ["options that are a text", ["null", "", "a=1"], `loadModel got a string as options; ${usage}`],
    [
      "an option that is no text",
      ["null", "", { max_batch_size: 4 }],
      'loadModel got a number as option "max_batch_size"',
    ],
    ["an unknown driver", ["onn", "a"], 'There is no driver "onn". Did you mean "onnx"?'],
    [
      "an unknown option",
      ["onnx", "a.onnx", { intra_op_treads: "1" }],
      'The onnx driver of loadModel("onnx", "a.onnx") has no option "intra_op_treads". Did you mean "intra_op_threads"?',
    ],
    [
      "an option that every driver has, misspelt",
      ["null", "", { max_batch_sise: "1" }],
      'The null driver of loadModel("null", "") has no option "max_batch_sise". Did you mean "max_batch_size"?',
    ],
  ])("%s", async (_, args, message) => {
    const loadModel = (_params: unknown, ctx: InitContext) =>
      (ctx.loadModel as (...args: unknown[]) => unknown)(...args);
    const failure = { code: "failed_precondition", message: expect.stringContaining(`init_hook failed: ${message}`) };
    await expect(start(loadModel)).rejects.toMatchObject(failure);
    const source = `export const init_hook = (_: any, ctx: any) => ctx.loadModel(...${JSON.stringify(args)});`;
    await expect(startHookThreads(source)).rejects.toMatchObject(failure);
  });

  test("nothing that is right: an option of the host, and a driver without a path", async () => {
    const { servable } = await start((_, ctx) => ctx.loadModel("null", "", { max_batch_size: "4" }));
    await servable.close();
  });
});

test("a model takes more predicts at once than an AbortSignal takes listeners, without a warning", async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => void warnings.push(warning);
  process.on("warning", onWarning);
  onTestFinished(() => void process.off("warning", onWarning));
  const { servable } = await start(async (_, { drivers, loadModel }) => {
    const other = await loadModel("onnx", "test/fixtures/models/half-plus-two.onnx");
    const predicts = [drivers[0]!, other].flatMap((model) =>
      Array.from({ length: 12 }, () => model.predict({ x: [1] })),
    );
    await Promise.all(predicts);
  });
  await servable.close();
  await new Promise(setImmediate);
  expect(warnings).toEqual([]);
});
