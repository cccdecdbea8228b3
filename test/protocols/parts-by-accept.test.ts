import { describe, expect, it } from "vitest";
import { createTensor, type Tensor, type Tensors } from "../../src/tensor/tensor.ts";
import { ScriptedService } from "../grpc/scripted-service.ts";
import { PartsService } from "../proxy/parts-service.ts";
import { postForParts } from "../proxy/read-parts.ts";
import { serveHttp } from "../proxy/serve-http.ts";

const values = (...numbers: number[]): Tensors => ({ y: createTensor("float32", [2], Float32Array.from(numbers)) });

function serveTwo() {
  return serveHttp(
    new PartsService(async function* () {
      yield values(1, 2);
      yield values(3, 4);
    }),
  );
}

const ROUTES = [
  [
    "TensorFlow Serving's REST API",
    "/v1/models/m:predict",
    { instances: [1, 2] },
    [{ predictions: [1, 2] }, { predictions: [3, 4] }],
  ],
  [
    "the original proxy",
    "/predict/m",
    { inputs: { x: { dtype: "float", data: [1] } } },
    [{ y: [1, 2] }, { y: [3, 4] }],
  ],
] as const;

describe.each(ROUTES)("%s", (_, path, body, expected) => {
  it("gives events to a client that accepts them", async () => {
    const { url } = await serveTwo();
    const reader = await postForParts(url + path, body, { accept: "application/json, Text/Event-Stream" });
    expect(reader.answer.headers["content-type"]).toBe("text/event-stream; charset=utf-8");
    expect((await reader.rest()).map((event) => JSON.parse(event.replace(/^data: /, "")))).toEqual(expected);
  });

  it("gives lines to a client that accepts those", async () => {
    const { url } = await serveTwo();
    const reader = await postForParts(url + path, body, { accept: "application/x-ndjson" });
    expect(reader.answer.headers["content-type"]).toBe("application/x-ndjson");
    expect((await reader.rest("\n")).map((line) => JSON.parse(line))).toEqual(expected);
  });

  it("refuses more than one part for any other client", async () => {
    const { url } = await serveTwo();
    const once = ["*/*", "application/json", "text/html", "text/event-stream;q=0", "*/*, text/event-stream;q=0.1"];
    for (const accept of once) {
      const response = await fetch(url + path, { method: "POST", body: JSON.stringify(body), headers: { accept } });
      expect([response.status, await response.json()]).toMatchObject([
        501,
        { error: expect.stringContaining("parts") },
      ]);
    }
  });

  it("gives the one answer of another model as ever to a client that accepts events as well", async () => {
    const { url } = await serveHttp(new ScriptedService());
    const answer = async (accept: string) => {
      const response = await fetch(url + path, { method: "POST", body: JSON.stringify(body), headers: { accept } });
      const { status, headers } = response;
      return [status, headers.get("content-type"), headers.get("content-length"), await response.text()];
    };
    expect(await answer("application/json, text/event-stream")).toEqual(await answer("application/json"));
    expect((await answer("text/event-stream"))[1]).toBe("text/event-stream; charset=utf-8");
  });

  it("answers a request that it cannot read with an error, whatever is accepted", async () => {
    const { url } = await serveTwo();
    const reader = await postForParts(url + path, "{", { accept: "text/event-stream" });
    expect([reader.answer.statusCode, reader.answer.headers["content-type"]]).toEqual([400, "application/json"]);
  });
});

it("TensorFlow Serving's REST API gives each part a line of its own, however many rows and outputs it has", async () => {
  const { url } = await serveHttp(
    new PartsService(async function* () {
      yield { y: values(1, 2).y as Tensor, z: values(3, 4).y as Tensor };
    }),
  );
  const reader = await postForParts(
    `${url}/v1/models/m:predict`,
    { instances: [1] },
    { accept: "application/x-ndjson" },
  );
  expect((await reader.rest("\n")).map((line) => JSON.parse(line))).toEqual([
    {
      predictions: [
        { y: 1, z: 3 },
        { y: 2, z: 4 },
      ],
    },
  ]);
});
