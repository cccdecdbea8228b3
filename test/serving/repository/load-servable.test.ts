import { readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Hooks } from "../../../src/hooks/hooks.ts";
import { loadPipeline, nullModels, plain, run } from "../../helpers/run-pipeline.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const identity: Hooks = { preprocess: (values) => values };
const load = (source: Parameters<typeof loadPipeline>[0]) => () => loadPipeline(source);

describe("options", () => {
  const declared: Hooks = {
    ...identity,
    options: { threshold: { type: "number", help: "least score", default: 0.5 } },
  };

  test.each([
    [
      "an unknown key without hooks",
      { options: { devise: "CPU" } },
      'No driver has the option "devise". null takes none of its own; every driver takes max_batch_size,',
    ],
    [
      "an unknown key where hooks declare theirs",
      { hooks: declared, options: { treshold: "1" } },
      'Neither a driver nor the hooks have the option "treshold". Did you mean "threshold"?',
    ],
    [
      "a wrong value of a declared key",
      { hooks: declared, options: { threshold: "high" } },
      'Option "threshold" is "high"; expected a number.',
    ],
    [
      "an unknown key for one stage",
      { hooks: identity, stages: [{ driver: "null", options: { a: "1" } }] },
      'The null driver of model 1 has no option "a".',
    ],
  ])("%s is refused", async (_, source, message) => {
    await expect(load(source)).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining(message),
    });
  });

  test("a key that a driver or every driver knows is taken, with hooks that declare theirs and without", async () => {
    const stages = [{ driver: "onnx", path: "test/fixtures/models/half-plus-two.onnx" }];
    for (const hooks of [{}, { hooks: declared }]) {
      const { servable } = await loadPipeline({
        stages,
        ...hooks,
        options: { intra_op_threads: "1", max_batch_size: "4" },
      });
      await servable.close();
    }
  });

  test("an unknown key goes to hooks that declare none", async () => {
    let seen: unknown;
    const init_hook: Hooks["init_hook"] = (params) => {
      seen = params;
    };
    await loadPipeline({ hooks: { ...identity, init_hook }, options: { anything: "yes" } });
    expect(seen).toEqual({ anything: "yes", model_path: "", model_paths: [""] });
  });
});

describe("what does not load", () => {
  test.each([
    [
      "an unknown driver",
      [{ driver: "onn", path: "a" }],
      /There is no driver "onn". Did you mean "onnx"\? This version has .*onnx, openvino/,
    ],
    [
      "a name that tells nothing",
      [{ path: "package.json" }],
      /No driver recognises package\.json by its name\. It looks like plain text; expected a model/,
    ],
    [
      "a path where nothing is",
      [{ path: "models/face.bin" }],
      /There is no models\/face\.bin, and no driver recognises its name; expected a model's path/,
    ],
    ["a driver without its path", [{ driver: "onnx" }], /The onnx driver needs a model; expected --model-path PATH/],
  ])("%s is named", async (_, stages, message) => {
    await expect(load({ stages })).rejects.toThrow(message);
  });

  test("a pipeline without any model", async () => {
    await expect(load({ stages: [], hooks: { process: (values) => values } })).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining("No model is given"),
    });
  });

  test("hooks of the wrong length, with both numbers", async () => {
    const folder = tempFolder({ "hooks.ts": "export const preprocess = [null, null, null];" });
    await expect(load({ hooks: join(folder, "hooks.ts"), stages: nullModels(2) })).rejects.toThrow(
      /hooks\.ts: preprocess has 3 slots, but there are 2 models/,
    );
  });

  test("a throwing init_hook", async () => {
    const init_hook = () => Promise.reject(new Error("no labels"));
    await expect(load({ hooks: { init_hook } })).rejects.toMatchObject({
      code: "failed_precondition",
      message: "The hooks object: init_hook failed: no labels",
    });
  });
});

describe("a user's own driver", () => {
  const source = `
    import { writeFileSync } from "node:fs";
    import { defineDriver, DEFAULT_SIGNATURE, createTensor } from "kserving";
    export default defineDriver({
      name: "twice",
      options: { factor: { type: "number", default: 2, help: "what to multiply by" } },
      pathless: true,
      load: async (path, options) => ({
        signatures: { [DEFAULT_SIGNATURE]: { inputs: [{ name: "x", dtype: "float32", shape: [-1] }] } },
        predict: async ({ x }) => ({ y: createTensor("float32", x.shape, x.data.map((v) => v * options.factor)) }),
        close: async () => writeFileSync(path, "closed"),
      }),
    });`;

  test("loads from its file, takes options, gets plain numbers as its dtype and is closed", async () => {
    const folder = tempFolder({ "twice.ts": source });
    const model = { driver: join(folder, "twice.ts"), path: join(folder, "closed.txt") };
    const hooks: Hooks = { preprocess: () => ({ x: [1, 2] }) };
    const { servable } = await loadPipeline({ stages: [model], hooks, options: { factor: "3" } });
    const { outputs } = await run(servable, { kind: "tensors", tensors: {} });
    expect(outputs.kind === "tensors" && plain(outputs.tensors)).toEqual({ y: [3, 6] });
    await servable.close();
    expect(readFileSync(model.path, "utf8")).toBe("closed");
  });

  describe("leaves nothing in the temporary folder", () => {
    /** Its own folder, so that no other test's files are counted. */
    const ownTemp = () => {
      const before = tmpdir();
      process.env.TMPDIR = tempFolder();
      onTestFinished(() => {
        process.env.TMPDIR = before;
      });
      return () => readdirSync(tmpdir());
    };

    test("once a model that hooks loaded of it is given back, and not before", async () => {
      const folder = tempFolder({ "twice.ts": source });
      const left = ownTemp();
      const init_hook: Hooks["init_hook"] = (_, ctx) =>
        ctx.loadModel(join(folder, "twice.ts"), join(folder, "closed.txt"));
      const { servable } = await loadPipeline({ hooks: { init_hook, ...identity } });
      expect(left()).toHaveLength(1);
      await servable.close();
      expect(left()).toEqual([]);
    });

    test.each([
      [
        "a model of it that hooks load does not load",
        "export default { name: 'x', options: {}, pathless: true, load: () => { throw new Error('no'); } };",
        "model.bin",
      ],
      ["its path is missing", "export default { name: 'x', options: {}, load: () => ({}) };", ""],
    ])("when %s", async (_, code, path) => {
      const driver = join(tempFolder({ "broken.ts": code }), "broken.ts");
      const left = ownTemp();
      const init_hook: Hooks["init_hook"] = (__, ctx) => ctx.loadModel(driver, path);
      const source = path === "" ? { stages: [{ driver }] } : { hooks: { init_hook } };
      await expect(load(source)).rejects.toThrow();
      expect(left()).toEqual([]);
    });

    test("when another stage's driver is not found", async () => {
      const driver = join(tempFolder({ "twice.ts": source }), "twice.ts");
      const left = ownTemp();
      await expect(load({ stages: [{ driver }, { driver: "nope" }] })).rejects.toThrow(/no driver "nope"/);
      expect(left()).toEqual([]);
    });
  });

  test("without a driver as default export is refused", async () => {
    const driver = join(tempFolder({ "empty.ts": "export const a = 1;" }), "empty.ts");
    await expect(load({ stages: [{ driver }] })).rejects.toThrow(/empty\.ts has no driver as its default export/);
  });
});

describe("loadModel in init_hook", () => {
  test("gives a model that hooks can run, equal ones shared", async () => {
    const hooks: Hooks = {
      init_hook: async (_, ctx) => Promise.all([ctx.loadModel("null", "a"), ctx.loadModel("null", "a")]),
      postprocess: async (values, ctx) => {
        const [first, second] = ctx.global_ctx;
        await first.close();
        return { ...(await second.predict(values)), name: second.name };
      },
    };
    const { servable } = await loadPipeline({ hooks });
    const { outputs } = await run(servable, { kind: "json", json: Buffer.from('{"x":1}') });
    expect(outputs.kind === "json" && Buffer.from(outputs.json).toString()).toBe('{"x":1,"name":"null"}');
    await servable.close();
  });
});

test("close_hook gets what init_hook returned, and its failure keeps nothing open", async () => {
  let closed: unknown;
  const hooks: Hooks = {
    init_hook: () => "state",
    close_hook: (state) => {
      closed = state;
      throw new Error("broken");
    },
  };
  const { servable } = await loadPipeline({ hooks });
  await servable.close();
  expect(closed).toBe("state");
});
