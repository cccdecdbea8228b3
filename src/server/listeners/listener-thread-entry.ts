import { isMainThread, parentPort, workerData } from "node:worker_threads";
import { nameThread } from "../../platform/threads/thread-entry.ts";
import { toWireError } from "../../platform/threads/wire-error.ts";
import type { ListenerCommand, ListenerData, ListenerEvent } from "./listener-messages.ts";

if (!isMainThread && parentPort !== null) {
  const port = parentPort;
  nameThread("listener");
  const tell = (event: ListenerEvent) => port.postMessage(event);
  // A sign of life, before what takes long: the program's modules.
  tell({ begun: true });
  try {
    const { runListener } = await import("./run-listener.ts");
    const { opened, handle } = await runListener(workerData as ListenerData, tell);
    port.on("message", (command: ListenerCommand) => void handle(command));
    tell({ opened });
  } catch (reason) {
    tell({ failed: toWireError(reason) });
  }
}
