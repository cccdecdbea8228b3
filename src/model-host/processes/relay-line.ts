import type { MessagePort } from "node:worker_threads";
import { type HostPort, toHostPort } from "../../threads/host-port.ts";
import { type MalformedListener, MalformedMessage } from "../../threads/malformed-message.ts";

/**
 * Passes messages between another thread's port and a line to a process, until either ends. `onMalformed` is called
 * when the thread sends what no client of a model does.
 */
export function relayLine(thread: MessagePort, line: HostPort, onMalformed: MalformedListener): void {
  const port = toHostPort(thread);
  port.onMessage((message) => {
    try {
      line.post(message, []);
    } catch (reason) {
      if (!(reason instanceof MalformedMessage)) throw reason;
      line.close();
      onMalformed(reason);
    }
  });
  port.onClose(() => line.close());
  // What came from the process has its memory to itself.
  line.onMessage((message) => port.post(message, Array.isArray(message) ? message : []));
  line.onClose(() => port.close());
}
