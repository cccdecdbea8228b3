import { beforeAll } from "vitest";
import { createServer } from "../../../src/server/server.ts";
import { startServer } from "../../helpers/start-server.ts";

/** URL at which the default model infers. */
export const INFER = "/v2/models/default/infer";
/** A model whose input is known. */
export const halfPlusTwo = [{ driver: "onnx", path: "test/fixtures/models/half-plus-two.onnx" }];
/** A model that takes anything. */
export const nothing = [{ driver: "null" }];
/** Little-endian bytes of floats. */
export const floats = (...values: number[]) => Buffer.from(Float32Array.from(values).buffer);

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
  readonly text: string;
}

type Stages = { driver: string; path?: string }[];
type Send = (path: string, init?: RequestInit) => Promise<Answer>;

/** Sends requests to its own server. */
export async function connect(stages: Stages): Promise<Send> {
  const { httpUrl } = await startServer({ stages, allowControl: "local" });
  return (path, init) => send(httpUrl + path, init);
}

/** Sends requests to one server for all tests of a file, which leave it as it was. */
export function connectOnce(stages: Stages): Send {
  let url = "";
  beforeAll(async () => {
    const server = await createServer({ stages, allowControl: "local", http: {} });
    url = server.httpUrl as string;
    return () => server.close();
  });
  return (path, init) => send(url + path, init);
}

async function send(url: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url, init);
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, headers: response.headers, bytes, text: bytes.toString() };
}

/** A body. */
export function post(body: string | Uint8Array, headers: Record<string, string> = {}): RequestInit {
  return { method: "POST", body: Buffer.from(body as Uint8Array), headers };
}

/** A body with a binary part, and the header that says where it begins. */
export function binary(json: unknown, ...parts: Uint8Array[]): RequestInit {
  const text = Buffer.from(JSON.stringify(json));
  return post(Buffer.concat([text, ...parts]), { "Inference-Header-Content-Length": String(text.length) });
}

/** The JSON and the bytes behind it. */
export function split({ bytes, headers }: Answer) {
  const length = Number(headers.get("inference-header-content-length") ?? bytes.length);
  return { json: JSON.parse(bytes.subarray(0, length).toString()), rest: bytes.subarray(length) };
}
