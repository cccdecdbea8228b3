import { HALF } from "../subjects.ts";

/** An answer's status, headers and JSON. */
export interface Asked {
  readonly status: number;
  readonly headers: Headers;
  readonly json: unknown;
}

/** Posts JSON, given as a value or as its text. */
export async function ask(url: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Asked> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const sent = { "content-type": "application/json", ...headers };
  const answer = await fetch(url, { method: "POST", body: text, headers: sent });
  return { status: answer.status, headers: answer.headers, json: await answer.json() };
}

/** Path of predictions by KServe's V1 protocol. */
export const V1_PATH = `/v1/models/${HALF.model}:predict`;
/** Path of predictions by KServe's V2 protocol. */
export const V2_PATH = `/v2/models/${HALF.model}/infer`;
/** The request of {@link HALF} in both. */
export const V1_REQUEST = { instances: HALF.input.data };
export const V2_REQUEST = { inputs: [{ ...HALF.input, datatype: "FP32" }] };
/** The answer of {@link HALF} in V1. */
export const V1_ANSWER = { predictions: HALF.expected };
