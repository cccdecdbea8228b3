import type { RecordedMessage } from "../../serving/request-log.ts";

/** A serialised message that is sent too, to be recorded. */
export function recordedBytes(message: Uint8Array): RecordedMessage {
  return { bytes: message.length, encode: () => new Uint8Array(message) };
}
