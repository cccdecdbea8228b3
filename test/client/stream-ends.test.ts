import { createServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { type CallError, connect, createTensor, type Tensor } from "../../src/client/node.ts";
import { encodeAs } from "../../src/tensor/codecs/protobuf/proto-messages.ts";

const X = createTensor("float32", [1], new Float32Array(1));

/** A framed answer of a stream: its value says which it is. */
function answer(id: string, value: number, isFinal?: boolean): Buffer {
  const outputs = [{ name: "y", datatype: "FP32", shape: ["1"], contents: { fp32Contents: [value] } }];
  const parameters = isFinal === undefined ? {} : { triton_final_response: { boolParam: isFinal } };
  return framed({ inferResponse: { modelName: "m", id, outputs, parameters } });
}

/** The end of an answer in parts. */
const END = { inferResponse: { modelName: "m", parameters: { triton_final_response: { boolParam: true } } } };

/** One that says that a request failed. */
function failed(id: string, errorMessage: string): Buffer {
  return framed({ errorMessage, ...(id !== "" && { inferResponse: { id } }) });
}

function framed(fields: Parameters<typeof encodeAs>[1]): Buffer {
  const message = encodeAs("inference.ModelStreamInferResponse", fields);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** A model of a server that handles streams so, after the status that they end with. */
async function open(handle: (stream: ServerHttp2Stream) => void) {
  const server = createServer();
  server.on("stream", (stream) => {
    stream.on("error", () => {});
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.resume();
    handle(stream);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const models = connect(`grpc://127.0.0.1:${(server.address() as AddressInfo).port}`, { timeoutMs: 20_000 });
  onTestFinished(() => models.$close());
  return models.m!;
}

/** A model of a server that gives these answers when all requests have come. */
function answering(...answers: readonly Buffer[]) {
  return open((stream) => {
    stream.on("end", () => {
      for (const each of answers) stream.write(each);
      stream.end();
    });
  });
}

/** Places and values of the results of requests, and the error that the stream ends with. */
async function results(
  model: Awaited<ReturnType<typeof open>>,
  requests: AsyncIterable<{ readonly x: Tensor }> | readonly { readonly x: Tensor }[],
) {
  const seen: unknown[] = [];
  try {
    for await (const { index, outputs, error } of model.stream(requests))
      seen.push([index, outputs?.y?.data[0] ?? error?.serverText]);
    return { seen, error: undefined };
  } catch (error) {
    return { seen, error: error as CallError };
  }
}

const THREE = [{ x: X }, { x: X }, { x: X }];

test("answers have the places of their ids, and a request may have several", async () => {
  const model = await answering(answer("2", 12), answer("0", 10), failed("1", "no"), answer("0", 11));
  const { seen, error } = await results(model, THREE);
  expect([seen, error]).toEqual([
    [
      [2, 12],
      [0, 10],
      [1, "no"],
      [0, 11],
    ],
    undefined,
  ]);
});

test("answers of a server without ids are in the order of the requests", async () => {
  const model = await answering(answer("", 10), failed("", "no"), answer("", 12));
  const { seen, error } = await results(model, THREE);
  expect([seen, error]).toEqual([
    [
      [0, 10],
      [1, "no"],
      [2, 12],
    ],
    undefined,
  ]);
});

test.each<[string, Buffer[], number, string]>([
  ["of the server's own", [answer("r-0", 10)], 0, 'gave an answer the id "r-0", which no request has'],
  ["that no request has", [answer("0", 10), answer("7", 11)], 1, 'the id "7"'],
  ["that is another number", [answer("0x1", 10)], 0, 'the id "0x1"'],
  ["now and then", [answer("0", 10), answer("", 11)], 1, "ids to some answers and not to others"],
  ["later only", [answer("", 10), answer("1", 11)], 1, "ids to some answers and not to others"],
  ["none, and too many", [..."0123"].map((value) => answer("", Number(value))), 3, "more answers without ids"],
])("ids %s are an error that says so", async (_, answers, count, text) => {
  const { seen, error } = await results(await answering(...answers), THREE);
  expect([seen.length, error?.code, error?.message]).toEqual([count, "internal", expect.stringContaining(text)]);
});

test("a failure without an id is of the one open request, else of the whole stream", async () => {
  const one = await results(await answering(answer("0", 10), answer("2", 12), failed("", "no")), THREE);
  expect([one.seen.at(-1), one.error]).toEqual([[1, "no"], undefined]);
  const many = await results(await answering(failed("", "no")), THREE);
  expect([many.seen, many.error?.serverText]).toEqual([[], "no"]);
});

test("a server that ends the stream with requests unanswered is an error that names them", async () => {
  const { seen, error } = await results(await answering(answer("1", 11)), THREE);
  expect(seen).toEqual([[1, 11]]);
  expect(error?.message).toMatch(/ended the stream without answers to the requests at 0, 2\. /);
  const model = await answering();
  const many = await results(model, Array(12).fill({ x: X }));
  expect(many.error?.message).toContain("at 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more.");
});

test("a server that ends the stream while its source goes on is an error at once", async () => {
  const model = await open((stream) => {
    stream.once("data", () => stream.end(answer("0", 10)));
  });
  let isOver = false;
  let give = () => {};
  async function* slow() {
    try {
      yield { x: X };
      await new Promise<void>((resolve) => {
        give = resolve;
      });
      yield { x: X };
    } finally {
      isOver = true;
    }
  }
  const { seen, error } = await results(model, slow());
  expect([seen, error?.code]).toEqual([[[0, 10]], "internal"]);
  expect(error?.message).toContain("ended the stream before all requests were sent");
  give();
  await expect.poll(() => isOver).toBe(true);
});

/** Values of the parts of one answer, and the error that it ends with. */
async function partsOf(...answers: readonly Buffer[]) {
  const seen: unknown[] = [];
  try {
    for await (const { y } of (await answering(...answers)).stream({ x: X })) seen.push(y?.data[0]);
    return { seen, error: undefined };
  } catch (error) {
    return { seen, error: error as CallError };
  }
}

test("an answer in parts ends at the one that is said to be the last, or with the stream of a server that says none", async () => {
  expect(await partsOf(answer("", 1, false), answer("", 2, true), answer("", 3, true))).toMatchObject({ seen: [1, 2] });
  expect(await partsOf(answer("", 1), answer("", 2))).toEqual({ seen: [1, 2], error: undefined });
  expect(await partsOf(answer("", 1, false), framed(END))).toEqual({ seen: [1], error: undefined });
});

test("a server that ends a stream before the last part, or says no end of none, is an error", async () => {
  const cut = await partsOf(answer("", 1, false));
  expect([cut.seen, cut.error?.code]).toEqual([[1], "internal"]);
  expect(cut.error?.message).toContain("ended the stream before the answer was whole. Send the request again if");
  expect((await partsOf()).error?.message).toContain("before the answer was whole");
  const failing = await partsOf(answer("", 1, false), failed("", "no more"), answer("", 2, true));
  expect([failing.seen, failing.error?.serverText]).toEqual([[1], "no more"]);
});
