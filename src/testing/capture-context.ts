import { AsyncLocalStorage } from "node:async_hooks";
import type { AnyHooks, Hook, HookContext, HookSlots } from "../hooks/hooks.ts";

/** The place for the context of a running request. */
interface Slot {
  ctx?: HookContext;
}

/** Hooks that keep each request's context for the test that has sent it. */
export class CapturedHooks {
  /** The hooks to run. */
  readonly hooks: AnyHooks;
  readonly #slots = new AsyncLocalStorage<Slot>();

  constructor(hooks: AnyHooks) {
    const { preprocess, postprocess, process } = hooks;
    this.hooks = {
      ...hooks,
      ...(preprocess && { preprocess: this.#captureAll(preprocess) }),
      ...(postprocess && { postprocess: this.#captureAll(postprocess) }),
      ...(process && { process: this.#capture(process) }),
    };
  }

  /** Runs a request; the context is undefined where it has reached no hook. */
  async run<Result>(request: () => Promise<Result>): Promise<{ result: Result; ctx: HookContext | undefined }> {
    const slot: Slot = {};
    const result = await this.#slots.run(slot, request);
    return { result, ctx: slot.ctx };
  }

  /** Values other than hooks stay, so that the server's check refuses them. */
  #captureAll(slots: HookSlots): HookSlots {
    const captured = (slot: Hook | null) => (typeof slot === "function" ? this.#capture(slot) : slot);
    return Array.isArray(slots) ? slots.map(captured) : (captured(slots as Hook) as Hook);
  }

  #capture(hook: Hook): Hook {
    return (values, ctx, args) => {
      const slot = this.#slots.getStore();
      if (slot !== undefined) slot.ctx = ctx;
      return hook(values, ctx, args);
    };
  }
}
