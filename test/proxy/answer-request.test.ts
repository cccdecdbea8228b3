import { ServerResponse } from "node:http";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { InferRequest, ModelRef } from "../../src/serving/inference-service.ts";
import { ScriptedService } from "../grpc/scripted-service.ts";
import { serveHttp } from "./serve-http.ts";

const BODY = '{"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[1]}]}';

/** Notes that two microtasks have passed: code that awaits one promise goes on before, code that awaits two after. */
function noteLater(steps: string[]): void {
  queueMicrotask(() => queueMicrotask(() => steps.push("later")));
}

describe("a request whose answer is small", () => {
  test("is answered as soon as its handler has done so", async () => {
    const steps: string[] = [];
    const { writeHead } = ServerResponse.prototype;
    const sent = vi.spyOn(ServerResponse.prototype, "writeHead").mockImplementation(function (
      this: ServerResponse,
      ...head: unknown[]
    ) {
      steps.push("sent");
      return Reflect.apply(writeHead, this, head);
    });
    onTestFinished(() => sent.mockRestore());
    const answer = () => {
      noteLater(steps);
      return Promise.resolve({ contentType: "application/json", body: Buffer.from("{}") });
    };
    const inference = [{ path: "/x", find: () => answer }];
    const { url } = await serveHttp(new ScriptedService(), { protocols: [{ name: "x", http: () => ({ inference }) }] });
    await (await fetch(`${url}/x`, { method: "POST", body: "{}" })).text();
    expect(steps).toEqual(["sent", "later"]);
  });

  test("runs in KServe V2 as soon as its model is leased", async () => {
    const steps: string[] = [];
    class Watched extends ScriptedService {
      override acquire(ref: ModelRef) {
        noteLater(steps);
        const lease = super.acquire(ref);
        const infer = (request: InferRequest) => {
          steps.push("run");
          return lease.infer(request);
        };
        return { ...lease, infer };
      }
    }
    const { url } = await serveHttp(new Watched());
    await (await fetch(`${url}/v2/models/m/infer`, { method: "POST", body: BODY })).text();
    expect(steps).toEqual(["run", "later"]);
  });
});
