import type { HttpAnswer } from "../../proxy/http-route.ts";

/** An answer in JSON, with the original's white space. */
export function toJson(value: unknown, status = 200): HttpAnswer {
  return { status, contentType: "application/json", body: Buffer.from(`${JSON.stringify(value, null, 1)}\n`) };
}
