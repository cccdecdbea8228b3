import { expect, it } from "vitest";
import { RequestQueue } from "../../../src/hooks/host/request-queue.ts";
import { toTensors } from "../../../src/tensor/plain-value.ts";

it("does not take a request whose client has left before", async () => {
  const queue = new RequestQueue();
  const signal = AbortSignal.abort(new DOMException("left", "AbortError"));
  const waited = queue.wait({
    signature: { name: "", spec: undefined },
    inputs: { kind: "tensors", tensors: toTensors({ x: 1 }) },
    outputs: undefined,
    call: { id: "1", metadata: {}, signal },
  });
  const ran = queue.runNext(() => Promise.reject(new Error("it was run")));
  await expect(waited).rejects.toMatchObject({ code: "cancelled" });
  expect(ran).toBe(false);
});
