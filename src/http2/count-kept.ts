import type { MemoryShare } from "../platform/limits/memory/memory-share.ts";
import type { SessionStream } from "./session-stream.ts";

/**
 * Counts what waits in a stream for its receiver, or for there to be one, as memory of its request, until it is taken
 * or the stream is over. Calls `refuse` with the reason if there is no room.
 */
export function countKept(stream: SessionStream, memory: MemoryShare, refuse: (reason: unknown) => void): void {
  let part: MemoryShare | undefined;
  const open = () => {
    const opened = memory.split(0);
    stream.once("close", () => opened.release());
    return opened;
  };
  stream.onKept = () => {
    part ??= open();
    try {
      part.setTo(stream.readableLength);
    } catch (reason) {
      refuse(reason);
    }
  };
  if (stream.readableLength > 0) stream.onKept();
}
