import type { HookContext } from "../../hooks.ts";

/** The contexts of running requests by number: the Python process knows a request by it. */
export class HookScopes {
  readonly #numbers = new WeakMap<HookContext, number>();
  readonly #contexts = new Map<number, HookContext>();
  /** Generators under way; their requests end with them. */
  readonly #generators = new Map<HookContext, { count: number; isOver: boolean }>();
  #last = 0;

  /** A request's number, from 1. */
  numberOf(ctx: HookContext): number {
    const known = this.#numbers.get(ctx);
    if (known !== undefined) return known;
    do this.#last = (this.#last + 1) >>> 0;
    while (this.#last === 0 || this.#contexts.has(this.#last));
    this.#numbers.set(ctx, this.#last);
    this.#contexts.set(this.#last, ctx);
    return this.#last;
  }

  /** The context of a running request. */
  get(number: number): HookContext | undefined {
    return this.#contexts.get(number);
  }

  /** A generator answers the request, until {@link letGo}. */
  hold(ctx: HookContext): void {
    const held = this.#generators.get(ctx) ?? { count: 0, isOver: false };
    held.count++;
    this.#generators.set(ctx, held);
  }

  /** A generator has ended; gives the request's number if its end has waited for that. */
  letGo(ctx: HookContext): number | undefined {
    const held = this.#generators.get(ctx);
    if (held === undefined || --held.count > 0) return undefined;
    this.#generators.delete(ctx);
    return held.isOver ? this.end(ctx) : undefined;
  }

  /** Forgets a request that has ended, and gives its number if it has one, and no generator is under way. */
  end(ctx: HookContext): number | undefined {
    const held = this.#generators.get(ctx);
    if (held !== undefined) {
      held.isOver = true;
      return undefined;
    }
    const number = this.#numbers.get(ctx);
    if (number !== undefined) this.#contexts.delete(number);
    return number;
  }
}
