import { describe, expect, test } from "vitest";
import { ScriptedService } from "../grpc/scripted-service.ts";
import { GatedService } from "./gated-service.ts";
import { serveHttp } from "./serve-http.ts";

const PREDICT = "/v1/models/m:predict";
const BODY = '{"inputs": [1, 2]}';

function post(url: string, body: string | Buffer = BODY, headers: Record<string, string> = {}) {
  return fetch(url + PREDICT, { method: "POST", body, headers });
}

describe("the request's signal", () => {
  test("aborts when the client leaves before the answer", async () => {
    const service = new GatedService();
    const { url } = await serveHttp(service);
    const controller = new AbortController();
    const answer = fetch(url + PREDICT, { method: "POST", body: BODY, signal: controller.signal });
    const { signal } = await service.entered;
    expect(signal.aborted).toBe(false);
    const aborted = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    controller.abort();
    await expect(answer).rejects.toThrow();
    await aborted;
    expect(signal.reason).toMatchObject({ name: "AbortError" });
    service.release();
  });

  test("does not abort when the client leaves after the answer", async () => {
    const service = new ScriptedService();
    const { url } = await serveHttp(service);
    await (await post(url, BODY, { connection: "close" })).text();
    await (await post(url)).text();
    expect(service.requests[0]?.signal.aborted).toBe(false);
  });
});
