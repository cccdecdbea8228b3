import { request } from "node:http";
import { gunzipSync, inflateSync } from "node:zlib";
import { expect, test } from "vitest";
import { MemoryBudget } from "../../src/platform/limits/memory/memory-budget.ts";
import { ScriptedService } from "../grpc/scripted-service.ts";
import { serveHttp } from "./serve-http.ts";

type Asked = [method: string, path: string, body: string];

const NUMBERS = new Array(300).fill(7).join();
/** A route of every protocol whose answer is long. */
const ROUTES: Asked[] = [
  ["POST", "/v1/models/m:predict", `{"inputs": [${NUMBERS}]}`],
  ["POST", "/v2/models/m/infer", `{"inputs":[{"name":"x","datatype":"FP32","shape":[300],"data":[${NUMBERS}]}]}`],
  ["POST", "/predict", `{"inputs": {"x": {"dtype": 3, "data": [${NUMBERS}]}}}`],
  ["POST", "/serving-proxy", `{"x": [${NUMBERS}]}`],
  ["GET", "/v2/openapi.json", ""],
];
const INFLATE = { gzip: gunzipSync, deflate: inflateSync };

/** Not fetch, which inflates by itself. */
function send(port: number, [method, path, body]: Asked, encoding: string) {
  return new Promise<{ headers: Record<string, unknown>; bytes: Buffer }>((resolve, reject) => {
    const sent = request({ port, host: "127.0.0.1", method, path, headers: { "accept-encoding": encoding } });
    sent.on("error", reject);
    sent.on("response", async (response) => {
      const pieces: Buffer[] = [];
      for await (const piece of response) pieces.push(piece);
      resolve({ headers: response.headers, bytes: Buffer.concat(pieces) });
    });
    sent.end(body);
  });
}

test.each(ROUTES)("%s %s is compressed for a client that accepts exactly one compression", async (...route) => {
  const memory = new MemoryBudget(1e8);
  const { port } = await serveHttp(new ScriptedService(), { memory });
  const plain = await send(port, route, "gzip, deflate, br");
  expect(plain.headers).not.toHaveProperty("content-encoding");
  expect(plain.bytes.length).toBeGreaterThan(256);
  for (const name of ["gzip", "deflate"] as const) {
    const { headers, bytes } = await send(port, route, name.toUpperCase());
    expect(headers).toMatchObject({
      "content-encoding": name,
      "content-length": String(bytes.length),
      vary: "Accept-Encoding",
    });
    expect(INFLATE[name](bytes).equals(plain.bytes)).toBe(true);
  }
});
