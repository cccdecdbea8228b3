import { describe, expect, it, onTestFinished } from "vitest";
import type { Model } from "../../../src/drivers/driver.ts";
import { createSilentLogger } from "../../../src/observability/logger.ts";
import { createServer } from "../../../src/server/server.ts";
import { createTensor, type Tensors } from "../../../src/tensor/tensor.ts";
import { missingRuntime } from "../missing-runtime.ts";
import { predict } from "../predict.ts";
import { floats, loadModel } from "./open-model.ts";
import { openvinoModel, readRuns } from "./openvino-cases.ts";
import { openvinoRuntime } from "./openvino-runtime.ts";

const missing = await missingRuntime("OpenVINO", openvinoRuntime);
/** With one thread, OpenVINO reports failures in another way. */
const THREADS = ["1", "2"];
const TOO_NARROW = floats([1, 3, 4, 1]);

function counted(size: number, count: number): Tensors {
  return { x: floats([size]), count: createTensor("int32", [], Int32Array.of(count)) };
}

/** The model's first two good inputs, which are of different sizes. */
function goodInputs(name: string): [Tensors, Tensors] {
  return readRuns(name).map(({ inputs }) => inputs) as [Tensors, Tensors];
}

async function failures(model: Model, inputs: Tensors, times: number): Promise<unknown[]> {
  const reasons: unknown[] = [];
  for (let time = 0; time < times; time++) reasons.push(await predict(model, inputs).catch(({ message }) => message));
  return reasons;
}

describe.skipIf(missing !== undefined)("an OpenVINO model after a failed run", () => {
  describe.each(THREADS)("with %s threads", (inference_threads) => {
    it("answers as before, however often its kind of request came before", async () => {
      const model = await loadModel("pooled", { inference_threads });
      const [first, second] = goodInputs("pooled");
      const expected = [await predict(model, first), await predict(model, second)];
      // Many, after which short runs are made in this thread.
      for (let time = 0; time < 8; time++) await predict(model, first);
      await expect(predict(model, { x: TOO_NARROW })).rejects.toMatchObject({
        code: "invalid_argument",
        message: expect.stringMatching(/^The model failed: .*Kernel .*\. The inputs were x float32\[1,3,4,1\]\.$/),
      });
      expect([await predict(model, first), await predict(model, second), await predict(model, first)]).toEqual([
        ...expected,
        expected[0],
      ]);
      expect(model.renewals?.()).toBe(1);
    });

    it("refuses the same shapes, and others that cannot be, without running them", async () => {
      const model = await loadModel("pooled", { inference_threads });
      const [good] = goodInputs("pooled");
      const expected = await predict(model, good);
      const [failed, ...refused] = await failures(model, { x: TOO_NARROW }, 3);
      expect(refused).toEqual([failed, failed]);
      for (const size of [1, 0])
        await expect(predict(model, { x: floats([2, 3, size, 4]) })).rejects.toMatchObject({
          code: "invalid_argument",
        });
      expect(await predict(model, good)).toEqual(expected);
      expect(model.renewals?.()).toBe(1);
    });

    it("answers as before where values failed, and refuses the same values alone", async () => {
      const model = await loadModel("counted", { inference_threads });
      const expected = await predict(model, counted(4, 4));
      const [failed, ...others] = await failures(model, counted(4, 7), 3);
      expect(failed).toMatch(/^The model failed: /);
      expect(others).toEqual([failed, failed]);
      expect(await predict(model, counted(4, 4))).toEqual(expected);
      expect(model.renewals?.()).toBe(1);
      await expect(predict(model, counted(4, 8))).rejects.toThrow("The model failed");
      expect(await predict(model, counted(4, 4))).toEqual(expected);
      expect(model.renewals?.()).toBe(2);
    });

    it("runs what was under way again", async () => {
      const model = await loadModel("pooled", { inference_threads, num_streams: "2" });
      const goods = goodInputs("pooled");
      const expected = [await predict(model, goods[0]), await predict(model, goods[1])];
      const all = Array.from({ length: 60 }, (_, index) =>
        index % 10 === 5
          ? predict(model, { x: floats([1, 3, 4 + index, 1]) }).catch(({ code }) => code)
          : predict(model, goods[index % 2]!),
      );
      for (const [index, answer] of (await Promise.all(all)).entries())
        expect(answer, String(index)).toEqual(index % 10 === 5 ? "invalid_argument" : expected[index % 2]);
    });

    it("compiles a shape of shape=auto again", async () => {
      const model = await loadModel("counted", { inference_threads, shape: "auto" });
      const expected = await predict(model, counted(4, 4));
      await expect(predict(model, counted(4, 7))).rejects.toThrow("The model failed");
      expect(await predict(model, counted(4, 4))).toEqual(expected);
      expect(model.renewals?.()).toBe(1);
    });
  });

  it("does not run a try of the server's own that cannot succeed", async () => {
    const model = await loadModel("pooled");
    const tried = (inputs: Tensors) => predict(model, inputs, { isTrial: true });
    await expect(tried({ x: TOO_NARROW })).rejects.toMatchObject({ code: "invalid_argument" });
    const [good] = goodInputs("pooled");
    expect(await tried(good)).toEqual(await predict(model, good));
    expect(model.renewals?.()).toBe(0);
  });

  it("does not refuse what only a branch that is not taken refuses", async () => {
    const model = await loadModel("branches");
    const wide = (value: boolean) => createTensor("bool", [1], Uint8Array.of(Number(value)));
    const small = floats([1, 3, 2, 2]);
    await expect(predict(model, { x: small, wide: wide(true) })).rejects.toThrow("The model failed");
    expect((await predict(model, { x: small, wide: wide(false) })).y?.shape).toEqual([1, 3, 2, 2]);
  });

  it("answers others as before after a run that was cancelled or too late", async () => {
    const model = await loadModel("chain");
    const good = { x: floats([1, 1], 1) };
    const expected = await predict(model, good);
    const large = { x: floats([1024, 1024]) };
    for (const signal of [AbortSignal.timeout(5), AbortSignal.abort()])
      await expect(predict(model, large, { signal })).rejects.toThrow();
    expect(await predict(model, good)).toEqual(expected);
  });

  it("is counted in the metrics, and logged", async () => {
    const lines: string[] = [];
    const log = {
      ...createSilentLogger(),
      level: "warn",
      warn: (message: string) => lines.push(message),
      child: () => log,
    } as never;
    const { httpUrl, close } = await createServer({
      log,
      http: {},
      stages: [{ driver: "openvino", path: openvinoModel("pooled") }],
    });
    onTestFinished(close);
    const ask = async (x: unknown) =>
      (await fetch(`${httpUrl}/v1/models/default:predict`, { method: "POST", body: JSON.stringify({ inputs: { x } }) }))
        .status;
    const image = (height: number, width: number) => [Array(3).fill(Array(height).fill(Array(width).fill(1)))];
    const statuses = [];
    for (const x of [image(4, 4), image(4, 1), image(4, 4)]) statuses.push(await ask(x));
    expect(statuses).toEqual([200, 400, 200]);
    const metrics = await (await fetch(`${httpUrl}/metrics`)).text();
    expect(metrics).toContain('kserving_model_renewals_total{model="default",version="1"} 1');
    expect(lines).toContainEqual(expect.stringContaining("the model was compiled again"));
  });
});
