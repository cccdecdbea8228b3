import { expect, it } from "vitest";
import { KSERVE_ENDPOINTS } from "../../../src/protocols/kserve/http-endpoints.ts";
import { startServer } from "../../helpers/start-server.ts";

it("the OpenAPI document has every endpoint, and the model's own inputs and outputs", async () => {
  const { httpUrl } = await startServer({
    stages: [{ driver: "onnx", path: "test/fixtures/models/half-plus-two.onnx" }],
  });
  const document = JSON.parse(await (await fetch(`${httpUrl}/v2/openapi.json`)).text());
  expect(document.openapi).toBe("3.1.0");
  for (const { method, path } of KSERVE_ENDPOINTS) {
    expect(document.paths[path], path).toHaveProperty(method.toLowerCase());
  }
  const { post } = document.paths["/v2/models/default/infer"];
  const { inputs } = post.requestBody.content["application/json"].schema.properties;
  expect(inputs.items.oneOf).toMatchObject([{ properties: { name: { const: "x" }, datatype: { enum: ["FP32"] } } }]);
  expect(Object.keys(post.responses)).toEqual(expect.arrayContaining(["200", "400", "404", "503"]));
});
