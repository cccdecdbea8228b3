import { reasonText } from "../../errors.ts";
import type { WireRecord } from "../../threads/frame.ts";
import type { LogEvent } from "../../threads/thread-logger.ts";
import type { ModelThreadEvent } from "../threads/model-thread-messages.ts";
import { DETACH, FAILED, LOADED, LOG, UNLOADED } from "./control-protocol.ts";
import { packRecord } from "./packed-record.ts";

/** An event of a model as a record to the server. */
export function packEvent(event: ModelThreadEvent): WireRecord {
  if ("log" in event) return packLog(event.log);
  if ("loaded" in event) return packRecord(LOADED, event.loaded);
  if ("failed" in event) return { kind: FAILED, id: 0, meta: event.failed, tensors: undefined };
  if ("unloaded" in event) return { kind: UNLOADED, id: 0, meta: undefined, tensors: undefined };
  return { kind: DETACH, id: event.detached, meta: undefined, tensors: undefined };
}

/** Fields other than plain data become text, and errors their stacks: the line of the log says the same. */
function packLog({ level, message, fields }: LogEvent): WireRecord {
  const plain = Object.entries(fields).map(([name, value]) => [name, isError(value) ? stackOf(value) : value] as const);
  try {
    return packRecord(LOG, { level, message, fields: Object.fromEntries(plain) });
  } catch {
    const texts = plain.map(([name, value]) => [name, reasonText(value)]);
    return packRecord(LOG, { level, message, fields: Object.fromEntries(texts) });
  }
}

function isError(value: unknown): value is Error {
  return value instanceof Error;
}

function stackOf({ stack, message, cause }: Error): string {
  const own = stack ?? message;
  return cause instanceof Error ? `${own}\ncaused by: ${stackOf(cause)}` : own;
}
