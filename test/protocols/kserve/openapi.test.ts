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

it("a model's own document has its calls alone, and those of a version", async () => {
  const { httpUrl } = await startServer({
    models: { "a b": { path: "test/fixtures/models/half-plus-two.onnx" }, other: { driver: "null" } },
  });
  const read = async (path: string) => (await fetch(`${httpUrl}${path}/openapi.json`)).json() as Promise<Document>;
  for (const place of ["/v2/models/a%20b", "/v2/models/a%20b/versions/1"]) {
    const { paths } = await read(place);
    expect(Object.keys(paths).every((path) => path.startsWith(place) && !path.includes("{"))).toBe(true);
    expect(paths[`${place}/infer`]?.post?.requestBody.content["application/json"].example).toEqual({
      inputs: [{ name: "x", datatype: "FP32", shape: [1], data: [1] }],
    });
    const ids = Object.values(paths).flatMap((each) => Object.values(each).map(({ operationId }) => operationId));
    expect(ids).toEqual(expect.arrayContaining([expect.stringMatching(/^infer_a_b_[0-9a-f]{8}$/)]));
    expect(ids).toEqual([...new Set(ids)]);
  }
  const unknown = await fetch(`${httpUrl}/v2/models/nothing/openapi.json`);
  expect(unknown.status).toBe(404);
});

interface Document {
  readonly paths: Record<string, Record<string, Operation>>;
}

interface Operation {
  readonly operationId: string;
  readonly requestBody: { readonly content: { readonly "application/json": { readonly example?: unknown } } };
}
