import type { MessagePort } from "node:worker_threads";
import { fromWireError } from "../threads/wire-error.ts";
import type { HookCommand, HookEvent } from "./hook-protocol.ts";
import type { LoadMore } from "./start-hooks.ts";
import { toModelClient } from "./to-model-client.ts";

/** Loads models for hooks by requests to the main thread. */
export class ParentModels {
  readonly #say: (event: HookEvent) => void;
  readonly #waiting = new Map<number, (command: HookCommand) => void>();
  #lastId = 0;

  constructor(control: MessagePort, say: (event: HookEvent) => void) {
    this.#say = say;
    control.on("message", (command: HookCommand) => {
      if ("loadedModel" in command) this.#waiting.get(command.loadedModel.id)?.(command);
    });
  }

  readonly load: LoadMore = async (driver, path, options) => {
    const id = ++this.#lastId;
    const answered = new Promise<HookCommand>((resolve) => this.#waiting.set(id, resolve));
    this.#say({ loadModel: { id, driver, path, options } });
    const { loadedModel } = (await answered) as Extract<HookCommand, { readonly loadedModel: unknown }>;
    this.#waiting.delete(id);
    if (loadedModel.connection === undefined) throw fromWireError(loadedModel.failed as never);
    const handle = toModelClient(loadedModel.connection);
    const close = async () => {
      await handle.close();
      this.#say({ closeModel: id });
    };
    return { ...handle, close };
  };
}
