import type { MessagePort } from "node:worker_threads";
import { createDeferred } from "../../platform/async/promises.ts";
import { toHostPort } from "../../platform/threads/host-port.ts";
import type { ModelThreadCommand } from "./model-thread-messages.ts";
import { type ModelSources, ThreadModels } from "./thread-models.ts";

/**
 * Runs a model thread: loads models, answers on every port that is attached, frees
 * models, and resolves after the command to close. `onStarted` is called once the code
 * of the driver is there, before native code may start threads.
 */
export async function runModelThread(
  control: MessagePort,
  onStarted: () => void = () => {},
  sources?: ModelSources,
): Promise<void> {
  const closing = createDeferred<void>();
  let models: ThreadModels | undefined;
  control.on("message", (command: ModelThreadCommand) => {
    if ("start" in command)
      models = new ThreadModels(command.start, (event) => control.postMessage(event), onStarted, sources);
    else if ("load" in command) void models?.load(command.load);
    else if ("giveUp" in command) models?.giveUp(command.giveUp);
    else if ("attach" in command) models?.attach(toHostPort(command.attach), command);
    else if ("unload" in command) void models?.unload(command.unload);
    else closing.resolve();
  });
  await closing.promise;
}
