import { AsyncLocalStorage } from "node:async_hooks";
import { type AnyHook, isGenerator } from "../../hooks/generator-hooks.ts";
import type { AnyHooks, Hook, HookContext, Hooks, PartsHook } from "../../hooks/hooks.ts";

/** Slots of hooks of either kind. */
type AnySlots = NonNullable<Hooks["preprocess"] | Hooks["postprocess"]>;

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

  /** Runs a request; the context is undefined if it has reached no hook. */
  async run<Result>(request: () => Promise<Result>): Promise<{ result: Result; ctx: HookContext | undefined }> {
    const slot: Slot = {};
    const result = await this.#slots.run(slot, request);
    return { result, ctx: slot.ctx };
  }

  /** The parts of a request as they come. */
  async *each<Result>(parts: AsyncGenerator<Result>): AsyncGenerator<{ result: Result; ctx: HookContext | undefined }> {
    const slot: Slot = {};
    // What a generator does runs in the context of the one that asks it.
    const next = () => this.#slots.run(slot, () => parts.next());
    try {
      for (let part = await next(); part.done !== true; part = await next())
        yield { result: part.value, ctx: slot.ctx };
    } finally {
      await parts.return(undefined);
    }
  }

  /** Values other than hooks stay, so that the server's check refuses them. */
  #captureAll<Slots extends AnySlots>(slots: Slots): Slots {
    const captured = (slot: unknown) => (typeof slot === "function" ? this.#capture(slot as AnyHook) : slot);
    return (Array.isArray(slots) ? slots.map(captured) : captured(slots)) as Slots;
  }

  /** Of the same kind: that of a generator decides how requests are answered. */
  #capture<Own extends AnyHook>(hook: Own): Own {
    const note = (ctx: HookContext) => {
      const slot = this.#slots.getStore();
      if (slot !== undefined) slot.ctx = ctx;
    };
    const plain: Hook = (values, ctx, args) => {
      note(ctx);
      return (hook as Hook)(values, ctx, args);
    };
    const parted: PartsHook = async function* (values, ctx, args) {
      note(ctx);
      return yield* (hook as PartsHook)(values, ctx, args);
    };
    return (isGenerator(hook) ? parted : plain) as Own;
  }
}
