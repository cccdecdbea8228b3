import { once } from "node:events";
import { Client, credentials } from "@grpc/grpc-js";
import {
  decodeInferResponse,
  decodeStreamResponse,
  encodeInferRequest,
  methodPath,
} from "../../src/client/remote/infer-message.ts";
import { createTensor } from "../../src/tensor/tensor.ts";
import { frame, METHODS, openSession, openStream } from "../attack/grpc-attack.ts";
import { floats, grpcAnswer, holds } from "../engine/messages.ts";
import { withGrpcPrefix } from "../load/grpc-connection.ts";
import type { LoadTarget } from "../load/load-job.ts";

const FLOATS = 16;
/** Below the number of calls of one connection. */
const PER_CONNECTION = 250;

/** The unary echo of as many floats as a part has. */
export async function unaryTarget(port: number, model: string): Promise<LoadTarget> {
  const data = floats(FLOATS);
  const body = encodeInferRequest({ model, inputs: { x: createTensor("float32", [1, FLOATS], data) } });
  const path = methodPath("ModelInfer");
  const answer = await grpcAnswer(port, body, path);
  if (!holds(decodeInferResponse(answer).outputs, data)) throw new Error(`${model} did not answer as it should`);
  return { protocol: "grpc", port, path, messages: [{ body, expected: { bytes: withGrpcPrefix(answer) } }] };
}

/** A request of bench/stream-hooks.ts: how many parts, their floats, and 1 if the answer stays open. */
export function partsRequest(model: string, parts: number, size = FLOATS, staysOpen = 0): Buffer {
  const wish = Int32Array.of(parts, size, staysOpen);
  return encodeInferRequest({ model, inputs: { x: createTensor("int32", [3], wish) } });
}

/** A stream that is answered by as many parts; the first answer is checked, and all others have to be the same. */
export async function streamTarget(port: number, model: string, parts: number): Promise<LoadTarget> {
  const body = partsRequest(model, parts);
  const messages = await streamedAnswer(port, body);
  if (messages.length !== parts) throw new Error(`${model} gave ${messages.length} parts in place of ${parts}`);
  for (const [number, message] of messages.entries()) assertPart(message, number);
  const expected = { bytes: Buffer.concat(messages.map(withGrpcPrefix)) };
  return { protocol: "grpc", port, path: METHODS.stream, messages: [{ body, expected }] };
}

function assertPart(message: Buffer, number: number): void {
  const { outputs, errorText } = decodeStreamResponse(message);
  const data = outputs.y?.data;
  if (errorText !== "" || data?.length !== FLOATS || data[0] !== number)
    throw new Error(`part ${number} is not as it should be: ${errorText || data}`);
}

async function streamedAnswer(port: number, message: Buffer): Promise<Buffer[]> {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  const messages: Buffer[] = [];
  try {
    const stream = client.makeServerStreamRequest(METHODS.stream, asIs, asIs, message);
    for await (const one of stream) messages.push(one as Buffer);
    return messages;
  } finally {
    client.close();
  }
}

function asIs(bytes: Buffer): Buffer {
  return bytes;
}

/** Answers that are open: each has given a part, and waits. */
export async function openAnswers(port: number, model: string, count: number): Promise<{ close(): void }> {
  const target = { grpc: `127.0.0.1:${port}`, http: "", pid: 0 };
  const message = frame(partsRequest(model, 1, FLOATS, 1));
  const connections = Math.ceil(count / PER_CONNECTION);
  const sessions = await Promise.all(Array.from({ length: connections }, () => openSession(target)));
  const begun = Array.from({ length: count }, (_, index) => {
    const stream = openStream(sessions[index % sessions.length] as (typeof sessions)[number], { path: METHODS.stream });
    stream.on("error", () => {});
    stream.write(message);
    return once(stream, "data");
  });
  await Promise.all(begun);
  return {
    close: () => {
      for (const session of sessions) session.destroy();
    },
  };
}
