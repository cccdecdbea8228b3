import { publicText, ServingError } from "../errors.ts";
import { kindOf } from "../platform/text/kind-of.ts";
import { toJsonText } from "../tensor/json-text.ts";

/** Bytes of a body, and the media type that it has unless its hook says another. */
export interface SealedBody {
  readonly body: Uint8Array;
  readonly contentType: string;
}

/** The bytes of a text, of bytes, or of an object as JSON; `place` is for the `internal` error about anything else. */
export function sealBody(value: unknown, place: string): SealedBody {
  if (value === undefined) return { body: new Uint8Array(0), contentType: "application/octet-stream" };
  if (typeof value === "string") return { body: Buffer.from(value), contentType: "text/plain; charset=utf-8" };
  if (value instanceof Uint8Array) return { body: value, contentType: "application/octet-stream" };
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
    throw new ServingError("internal", `${place} is ${kindOf(value)}; expected a text, bytes, or an object for JSON.`);
  }
  try {
    return { body: Buffer.from(toJsonText(value)), contentType: "application/json" };
  } catch (reason) {
    throw new ServingError("internal", `${place} cannot be sent: ${publicText(reason)}`, { cause: reason });
  }
}
