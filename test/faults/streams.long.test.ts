import { Client, credentials } from "@grpc/grpc-js";
import { expect, onTestFinished, test } from "vitest";
import { decodeStreamResponse, encodeInferRequest, methodPath } from "../../src/client/remote/infer-message.ts";
import { createTensor } from "../../src/tensor/tensor.ts";
import { usedMb } from "../fuzz/used-mb.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { postForParts } from "../proxy/read-parts.ts";

const MANY = 16_000;
const COUNTING = `
export const inputs = [{ name: "to", dtype: "int32", shape: [1] }];
export async function* process({ to }) {
  for (let number = 0; number < to.data[0]; number++) yield { number: Int32Array.of(number) };
}`;

async function* overGrpc(address: string, to: number): AsyncGenerator<number> {
  const client = new Client(address, credentials.createInsecure());
  onTestFinished(() => client.close());
  const message = encodeInferRequest({ model: "", inputs: { to: createTensor("int32", [1], Int32Array.of(to)) } });
  const asIs = (bytes: Buffer) => bytes;
  const stream = client.makeServerStreamRequest(methodPath("ModelStreamInfer"), asIs, asIs, message);
  for await (const part of stream) {
    const { outputs, errorText } = decodeStreamResponse(part as Buffer);
    expect(errorText).toBe("");
    yield Number(outputs.number?.data[0]);
  }
}

async function* overHttp(url: string, to: number): AsyncGenerator<number> {
  const reader = await postForParts(`${url}/v2/models/default/generate_stream`, { to });
  for (let event = await reader.next(); event !== undefined; event = await reader.next())
    yield JSON.parse(event.slice("data: ".length)).number;
}

/** A wire knows nothing of threads, nor they of it: each is seen once. */
test.each([
  ["HTTP", 0],
  ["gRPC", 1],
] as const)(
  "sixteen thousand parts come in their order, and none is kept, over %s with %i hook threads",
  async (wire, workers) => {
    const hooks = `${tempFolder({ "hooks.ts": COUNTING })}/hooks.ts`;
    const { grpcAddress, httpUrl } = await startServer({ stages: [{ driver: "null" }], hooks, workers });
    let [next, early] = [0, 0];
    for await (const number of wire === "HTTP" ? overHttp(httpUrl, MANY) : overGrpc(grpcAddress, MANY)) {
      // One expectation for each would take as long as the parts.
      if (number !== next++) throw new Error(`${number} came in place of ${next - 1}`);
      if (next === MANY / 8) early = usedMb();
      if (next % 6000 === 0) expect(await only(overHttp(httpUrl, 1))).toEqual([0]);
    }
    expect(next).toBe(MANY);
    // A quarter of a kilobyte for each part is more.
    expect(usedMb() - early).toBeLessThan(3.1);
  },
);

async function only(parts: AsyncGenerator<number>): Promise<readonly number[]> {
  const all: number[] = [];
  for await (const number of parts) all.push(number);
  return all;
}
