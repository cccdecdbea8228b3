import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createSilentLogger } from "../../../src/observability/logger.ts";
import { sliceSettings } from "../../../src/platform/limits/settings/server-settings.ts";
import { inferOnce } from "../../../src/serving/infer-once.ts";
import { LocalService } from "../../../src/serving/local-service.ts";
import { hostStage } from "../../../src/serving/repository/host-served.ts";
import { loadServable, type ServableSource } from "../../../src/serving/repository/load-servable.ts";
import { toTensors } from "../../../src/tensor/plain-value.ts";
import { loadOptions } from "../../helpers/load-options.ts";
import { plain } from "../../helpers/run-pipeline.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { manage } from "../manage.ts";

const HALF_PLUS_TWO = { stages: [{ path: "test/fixtures/models/half-plus-two.onnx" }] };

function hookFile(code: string): string {
  const file = join(tempFolder(), "hooks.ts");
  writeFileSync(file, code);
  return file;
}

const calling = (name: string, inputs = "inputs") => ({
  stages: [{ driver: "null" }],
  hooks: hookFile(`export const process = (inputs, ctx) => ctx.models.get("${name}").predict(${inputs});`),
});

/** Reads another model's parts, and answers with the last of them and their count. */
const reading = (name: string, inputs = "inputs") => ({
  stages: [{ driver: "null" }],
  hooks: hookFile(`
    export async function process(inputs, ctx) {
      let [count, last] = [0, {}];
      for await (last of ctx.models.get("${name}").stream(${inputs})) count++;
      return { ...last, count: Int32Array.of(count) };
    }`),
});
const once = () => ({ stages: [{ driver: "null" }], hooks: hookFile("export const process = ({ x }) => ({ x });") });
const twice = () => ({
  stages: [{ driver: "null" }],
  hooks: hookFile("export function* process({ x }) { yield { x }; yield { x: [8] }; }"),
});

/** A service of models whose hooks know it; `workers` 0 = hooks run in this thread. */
async function serve(models: Readonly<Record<string, Partial<ServableSource>>>, workers: number) {
  const manager = await manage([]);
  onTestFinished(() => manager.close());
  const { limits } = sliceSettings({ maxQueueBytes: 2 ** 24 });
  const service = new LocalService(manager, { limits, log: createSilentLogger() });
  const options = { ...loadOptions(), workers, own: service };
  let now: Readonly<Record<string, string>> = {};
  let changes = 0;
  const change = async (changed: typeof models) => {
    now = { ...now, ...Object.fromEntries(Object.keys(changed).map((name) => [name, `changed ${++changes}`])) };
    const aspired = Object.entries({ ...models, ...changed }).map(([name, given]) => {
      const source = { name, version: 1n, stages: [], options: {}, ...given };
      const load = async () => (await loadServable(source, options)).servable;
      const needs = source.stages.flatMap((stage) => ("model" in stage ? [String(stage.model)] : []));
      return { name, versions: [{ version: 1n, fingerprint: now[name] ?? "", needs, load }] };
    });
    manager.aspire(aspired);
    await manager.settled();
  };
  await change({});
  const predict = async (model: string) => {
    const inputs = { kind: "tensors", tensors: toTensors({ x: new Float32Array([2]) }) } as const;
    const signal = new AbortController().signal;
    const { outputs } = await inferOnce(service, {
      ref: { model },
      signature: "",
      inputs,
      call: { id: "", metadata: {}, signal },
    });
    return plain((outputs as { tensors: Parameters<typeof plain>[0] }).tensors);
  };
  return { manager, service, predict, change };
}

describe.each([
  ["in threads", 1],
  ["in the main thread", 0],
])("hooks %s call the other models of the server", (_, workers) => {
  test("by name, with plain values, through the hooks of those", async () => {
    const doubling = {
      ...HALF_PLUS_TWO,
      hooks: hookFile("export const postprocess = ({ y }) => ({ y: y.data.map((value) => 2 * value) });"),
    };
    const models = {
      half: HALF_PLUS_TWO,
      doubling,
      tensors: calling("half"),
      values: calling("doubling", "{ x: [4] }"),
    };
    const { predict } = await serve(models, workers);
    expect(await predict("tensors")).toEqual({ y: [3] });
    expect(await predict("values")).toEqual({ y: [8] });
  });

  test("each call takes the version that is there, and each model counts its own requests", async () => {
    const { predict, service } = await serve({ half: HALF_PLUS_TWO, caller: calling("half") }, workers);
    await predict("caller");
    await service.unload("half");
    await expect(predict("caller")).rejects.toMatchObject({ code: "not_found" });
    await service.load("half");
    expect(await predict("caller")).toEqual({ y: [3] });
    const counts = (await service.statistics()).map(({ model, requests }) => [model, requests.succeeded.count]);
    expect(Object.fromEntries(counts)).toEqual({ half: 1, caller: 2 });
  });

  test("with the dtypes that they take by then", async () => {
    const typed = (dtype: string) => ({
      stages: [{ driver: "null" }],
      hooks: hookFile(`
        export const inputs = [{ name: "x", dtype: "${dtype}", shape: [-1] }];
        export const preprocess = (values) => values;`),
    });
    const given = "{ x: [4] }";
    const { predict, change } = await serve(
      { typed: typed("float32"), caller: calling("typed", given), reader: reading("typed", given) },
      workers,
    );
    expect([await predict("caller"), await predict("reader")]).toEqual([{ x: [4] }, { x: [4], count: [1] }]);
    await change({ typed: typed("int64") });
    expect([await predict("caller"), await predict("reader")]).toEqual([{ x: [4n] }, { x: [4n], count: [1] }]);
  });

  test("with one answer or parts, as they give by then", async () => {
    const { predict, change } = await serve({ m: once(), reader: reading("m") }, workers);
    expect(await predict("reader")).toEqual({ x: [2], count: [1] });
    await change({ m: twice() });
    expect(await predict("reader")).toEqual({ x: [8], count: [2] });
    await change({ m: once() });
    expect(await predict("reader")).toEqual({ x: [2], count: [1] });
  });

  test("an unknown name is an error, and is found once the model exists", async () => {
    const { predict } = await serve({ caller: calling("nobody") }, workers);
    await expect(predict("caller")).rejects.toThrow(/nobody/);
  });

  test("models that call one another in a circle are refused", async () => {
    const { predict } = await serve({ a: calling("b"), b: calling("a") }, workers);
    await expect(predict("a")).rejects.toThrow(
      /^The hooks of 16 models have called one another before this call of [ab];/,
    );
  });

  test("what is no name is an error of the hook", async () => {
    const hooks = hookFile("export const process = (inputs, ctx) => ctx.models.get(7).predict(inputs);");
    const { predict } = await serve({ caller: { stages: [{ driver: "null" }], hooks } }, workers);
    await expect(predict("caller")).rejects.toThrow("models.get got a number");
  });
});

test("a pipeline is loaded again when a model that is its stage answers in parts, and did not, or no more", async () => {
  const { service, change } = await serve({ m: once(), chain: { stages: [{ model: "m" }] } }, 0);
  const isDecoupled = () => {
    const lease = service.acquire({ model: "chain" });
    lease.release();
    return lease.description.decoupled === true;
  };
  expect(isDecoupled()).toBe(false);
  await change({ m: twice() });
  await expect.poll(isDecoupled).toBe(true);
  await change({ m: once() });
  await expect.poll(isDecoupled).toBe(false);
});

test("a stage that is not served tells clients of no other model", async () => {
  const { service } = await serve({ secret: HALF_PLUS_TWO }, 0);
  const hosting = hostStage(service, { model: "none" });
  await expect(hosting).rejects.toThrow(
    /"none", which is a stage .*not available: Servable not found.*Latest\(none\)$/,
  );
});
