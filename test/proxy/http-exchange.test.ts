import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { MemoryBudget } from "../../src/platform/limits/memory/memory-budget.ts";
import { HttpExchange } from "../../src/proxy/http-exchange.ts";
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

  test("leaves no timer of the client's limit behind where the client left while its body was inflated", () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const request = new IncomingMessage(new Socket());
    request.headers["x-request-timeout-ms"] = "2147483647";
    const response = new ServerResponse(request);
    const exchange = new HttpExchange(request, response, { maxMessageBytes: 1e6, memory: new MemoryBudget(1e6) });
    const before = vi.getTimerCount();
    response.emit("close");
    expect(exchange.callInfo().signal.aborted).toBe(true);
    expect(vi.getTimerCount()).toBe(before);
  });
});
