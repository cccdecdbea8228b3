import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { assertMethodName, methodNameOf } from "../../../src/protocols/tensorflow-serving/method-names.ts";
import { createServer, type Server } from "../../../src/server/server.ts";
import { connectService } from "./connect-service.ts";

const PREDICTION =
  "Expected prediction signature method_name to be one of {tensorflow/serving/predict, tensorflow/serving/classify, tensorflow/serving/regress}. Was: ";
const CLASSIFICATION = "Expected classification signature method_name to be tensorflow/serving/classify. Was: ";
const REGRESSION = "Expected regression signature method_name to be tensorflow/serving/regress. Was: ";

/** Gives x back, under signatures for several methods. */
const DRIVER = `
import { defineDriver } from "kserving";
const x = { name: "x", dtype: "float32", shape: [-1] };
const signature = { inputs: [x], outputs: [{ ...x, name: "outputs" }] };
export default defineDriver({
  name: "several",
  options: {},
  pathless: true,
  load: async () => ({
    signatures: {
      serving_default: signature,
      regress: { ...signature, method: "regress" },
      odd: { ...signature, methodName: "my/method" },
    },
    predict: async ({ x }) => ({ outputs: x }),
    close: async () => {},
  }),
});`;

const example = { features: { feature: { x: { float_list: { value: [2] } } } } };
const input = { example_list: { examples: [example] } };

it("a signature that names no method is for Predict", () => {
  expect(methodNameOf({})).toBe("tensorflow/serving/predict");
  expect(methodNameOf({ method: "regress" })).toBe("tensorflow/serving/regress");
  expect(methodNameOf({ methodName: "" })).toBe("");
  expect(() => assertMethodName("predict", undefined)).not.toThrow();
});

describe("the method names of signatures", () => {
  let checking: Server;
  let lenient: Server;
  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), "kserving-test-"));
    const driver = join(folder, "driver.ts");
    writeFileSync(driver, DRIVER);
    const models = { m: { driver } };
    checking = await createServer({ models, http: {}, checkMethodNames: true });
    lenient = await createServer({ models, http: {} });
    return async () => {
      await checking.close();
      await lenient.close();
      rmSync(folder, { recursive: true });
    };
  });

  const spec = (signature_name: string) => ({ name: "m", signature_name });
  const x = { dtype: "DT_FLOAT", tensor_shape: { dim: [{ size: 1 }] }, float_val: [2] };

  /** The code and text of gRPC's answer, code 0 for one without an error. */
  async function ask(server: Server, method: string, signature: string): Promise<readonly [number, string]> {
    const call = connectService(server, "PredictionService");
    const requests: Record<string, object> = {
      Predict: { model_spec: spec(signature), inputs: { x } },
      Classify: { model_spec: spec(signature), input },
      Regress: { model_spec: spec(signature), input },
      MultiInference: {
        tasks: [{ model_spec: spec(signature), method_name: "tensorflow/serving/regress" }],
        input,
      },
    };
    return call(method, requests[method] as never).then(
      () => [0, ""] as const,
      ({ code, details }) => [code, details] as const,
    );
  }

  it.each([
    ["Predict", "serving_default", 0, ""],
    ["Predict", "regress", 0, ""],
    ["Predict", "odd", 13, `${PREDICTION}my/method`],
    ["Classify", "regress", 3, `${CLASSIFICATION}tensorflow/serving/regress`],
    ["Regress", "regress", 0, ""],
    ["Regress", "serving_default", 3, `${REGRESSION}tensorflow/serving/predict`],
    ["MultiInference", "regress", 0, ""],
    ["MultiInference", "odd", 3, `${REGRESSION}my/method`],
  ])("are compared where that is asked for: %s of %s", async (method, signature, code, text) => {
    expect(await ask(checking, method, signature)).toEqual([code, text]);
  });

  it.each([
    ["predict", { instances: [1] }, 500, `${PREDICTION}my/method`],
    ["classify", { examples: [{ x: 1.5 }] }, 400, `${CLASSIFICATION}my/method`],
    ["regress", { examples: [{ x: 1.5 }] }, 400, `${REGRESSION}my/method`],
  ])("are compared over REST too: %s", async (verb, body, status, error) => {
    const url = `${checking.httpUrl}/v1/models/m:${verb}`;
    const answer = await fetch(url, { method: "POST", body: JSON.stringify({ signature_name: "odd", ...body }) });
    expect([answer.status, await answer.json()]).toEqual([status, { error }]);
  });

  it("are not compared otherwise", async () => {
    for (const method of ["Predict", "Regress", "MultiInference"])
      expect(await ask(lenient, method, "odd")).toEqual([0, ""]);
  });

  it("are in the metadata as the model's file has them", async () => {
    const answer = await fetch(`${lenient.httpUrl}/v1/models/m/metadata`);
    const { metadata } = (await answer.json()) as { metadata: { signature_def: { signature_def: object } } };
    expect(metadata.signature_def.signature_def).toMatchObject({
      odd: { method_name: "my/method" },
      regress: { method_name: "tensorflow/serving/regress" },
    });
  });
});
