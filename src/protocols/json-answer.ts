import type { HttpAnswer } from "../proxy/http-route.ts";

/** An answer in JSON, on one line. */
export function jsonAnswer(value: unknown): HttpAnswer {
  return { contentType: "application/json", body: Buffer.from(JSON.stringify(value)) };
}
