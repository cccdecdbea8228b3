import type { MessagePort } from "node:worker_threads";
import { type HostPort, type MalformedListener, MalformedMessage, toHostPort } from "../../threads/host-port.ts";

/**
 * Passes messages between another thread's port and a port to a process, until either ends. `onMalformed` is called
 * when the thread sends what no client of a model does.
 */
export function relayPort(thread: MessagePort, model: HostPort, onMalformed: MalformedListener): void {
  const port = toHostPort(thread);
  port.onMessage((message) => {
    try {
      model.post(message, []);
    } catch (reason) {
      if (!(reason instanceof MalformedMessage)) throw reason;
      model.close();
      onMalformed(reason);
    }
  });
  port.onClose(() => model.close());
  // What came from the process has its memory to itself.
  model.onMessage((message) => port.post(message, Array.isArray(message) ? message : []));
  model.onClose(() => port.close());
}
