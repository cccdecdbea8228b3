import type { MessagePort } from "node:worker_threads";
import { createDeferred } from "../../async/deferred.ts";
import { toHostPort } from "../../threads/host-port.ts";
import type { ModelThreadCommand, ModelWorkerData } from "./model-thread-messages.ts";
import { ThreadModels } from "./thread-models.ts";

/**
 * Runs a model thread: loads models, answers on every line that is attached, frees models, and resolves after the command to close.
 * `onStarted` is called once the code of the driver is there, before native code may start threads of its own.
 */
export async function runModelThread(
  control: MessagePort,
  data: ModelWorkerData,
  onStarted: () => void = () => {},
): Promise<void> {
  const closing = createDeferred<void>();
  const models = new ThreadModels(data, (event) => control.postMessage(event), onStarted);
  control.on("message", (command: ModelThreadCommand) => {
    if ("load" in command) void models.load(command.load);
    else if ("attach" in command) models.attach(toHostPort(command.attach), command);
    else if ("unload" in command) void models.unload(command.unload);
    else closing.resolve();
  });
  await closing.promise;
}
