import { MalformedMessage } from "../../threads/host-port.ts";
import { isLogEvent, type LogEvent } from "../../threads/thread-logger.ts";

/** Checks what a process, which is not trusted, wants to log; throws {@link MalformedMessage}. */
export function parseLogEvent(value: unknown): LogEvent {
  if (isLogEvent(value)) return value;
  throw new MalformedMessage("it has an event of the log without level and text");
}
