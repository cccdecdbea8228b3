import { Client, type ClientDuplexStream, credentials } from "@grpc/grpc-js";
import { describe, expect, it, onTestFinished } from "vitest";
import { connect } from "../../grpc/byte-client.ts";
import { oracle, type Plain } from "../../grpc/oracle.ts";
import { missingListeners } from "../../helpers/missing-listeners.ts";
import { shareServer, startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const PATH = "/tensorflow.serving.PredictionService/PredictStreamed";

/** Counts to `x`, fails at 13, waits for ever behind 12, and for -1 says how many generators have ended. */
const HOOKS = `
  let ended = 0;
  export async function* process({ x }, { signal }) {
    const last = Number(x.data[0]);
    if (last === -1) return void (yield { number: Int32Array.of(ended) });
    try {
      for (let number = 1; number <= last; number++) {
        if (number === 13) throw new Error("no thirteenth part");
        yield { number: Int32Array.of(number) };
      }
      if (last === 12) await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    } finally {
      ended++;
    }
  }`;

function models() {
  const hooks = `${tempFolder({ "hooks.mjs": HOOKS })}/hooks.mjs`;
  return { counting: { stages: [{ driver: "null" }], hooks }, plain: { driver: "null" } };
}

function request(x: number, model = "counting"): Buffer {
  const tensor = { dtype: "DT_INT32", tensor_shape: { dim: [{ size: 1 }] }, int_val: [x] };
  return oracle.encodeRequest({ model_spec: { name: model }, inputs: { x: tensor } }) as Buffer;
}

/** The number of an answer. */
function numberOf(bytes: Buffer, output = "number"): unknown {
  const { outputs } = oracle.decodeResponse(bytes) as { readonly outputs: Record<string, Plain> };
  return (outputs[output]?.int_val as readonly number[] | undefined)?.[0];
}

async function numbersOf(messages: AsyncIterator<Buffer>, output?: string): Promise<unknown[]> {
  const numbers: unknown[] = [];
  for (let next = await messages.next(); next.done !== true; next = await messages.next())
    numbers.push(numberOf(next.value, output));
  return numbers;
}

/** A stream in both directions, as it is declared. */
function open(address: string): ClientDuplexStream<Buffer, Buffer> {
  const client = new Client(address, credentials.createInsecure());
  onTestFinished(() => client.close());
  const asIs = (bytes: Buffer) => bytes;
  return client.makeBidiStreamRequest(PATH, asIs, asIs);
}

const LISTENERS = missingListeners() === undefined ? [1, 2] : [1];

describe.each(LISTENERS)("PredictStreamed of a server with %i listening threads", (listeners) => {
  const serve = shareServer(() => ({ listeners, models: models() }));

  it("gives each part of an answer, and says which model ran", async () => {
    const { grpcAddress } = await serve();
    const messages = connect(grpcAddress).stream(PATH, request(3));
    const first = (await messages.next()).value as Buffer;
    expect(oracle.decodeResponse(first)).toMatchObject({ model_spec: { name: "counting", version: { value: "1" } } });
    expect([numberOf(first), ...(await numbersOf(messages))]).toEqual([1, 2, 3]);
    expect(await numbersOf(connect(grpcAddress).stream(PATH, request(0)))).toEqual([]);
  });

  it("gives the one answer of another model", async () => {
    const { grpcAddress } = await serve();
    expect(await numbersOf(connect(grpcAddress).stream(PATH, request(5, "plain")), "x")).toEqual([5]);
  });

  it("ends with the status of an error after the parts before it", async () => {
    const { grpcAddress } = await serve();
    const messages = connect(grpcAddress).stream(PATH, request(20));
    const numbers: unknown[] = [];
    const read = async () => {
      for (let next = await messages.next(); next.done !== true; next = await messages.next())
        numbers.push(numberOf(next.value));
    };
    await expect(read()).rejects.toMatchObject({ code: 13, details: expect.stringContaining("no thirteenth part") });
    expect(numbers).toHaveLength(12);
  });

  it.each([
    ["an unknown model", request(1, "nobody"), 5],
    ["what is no request", Buffer.of(0x0a, 99), 3],
  ])("refuses %s", async (_, bytes, code) => {
    const { grpcAddress } = await serve();
    await expect(connect(grpcAddress).stream(PATH, bytes).next()).rejects.toMatchObject({ code });
  });

  it("needs no end of the client's own messages", async () => {
    const { grpcAddress } = await serve();
    const stream = open(grpcAddress);
    stream.write(request(2));
    expect(await numbersOf(stream[Symbol.asyncIterator]())).toEqual([1, 2]);
  });

  it("takes one request, in TensorFlow Serving's words", async () => {
    const { grpcAddress } = await serve();
    const none = open(grpcAddress);
    none.end();
    const details = "PredictStreamed requires at least one request";
    await expect(numbersOf(none[Symbol.asyncIterator]())).rejects.toMatchObject({ code: 9, details });
    const two = open(grpcAddress);
    two.write(request(12));
    two.write(request(1));
    await expect(numbersOf(two[Symbol.asyncIterator]())).rejects.toMatchObject({
      code: 12,
      details: expect.stringContaining("PredictStreamed already received one request."),
    });
  });

  it("ends the making of parts when its client cancels", async () => {
    const { grpcAddress } = await startServer({ listeners, models: models() });
    const leaving = new AbortController();
    const messages = connect(grpcAddress).stream(PATH, request(12), { signal: leaving.signal });
    await messages.next();
    leaving.abort();
    const ended = async () => (await numbersOf(connect(grpcAddress).stream(PATH, request(-1))))[0];
    await expect.poll(ended).toBe(1);
  });
});
