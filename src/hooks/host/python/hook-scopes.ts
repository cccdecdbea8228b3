import type { HookContext } from "../../hooks.ts";

/** The contexts of running requests by number: the Python process knows a request by it. */
export class HookScopes {
  readonly #numbers = new WeakMap<HookContext, number>();
  readonly #contexts = new Map<number, HookContext>();
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

  /** Forgets a request that has ended, and gives its number if it has one. */
  end(ctx: HookContext): number | undefined {
    const number = this.#numbers.get(ctx);
    if (number !== undefined) this.#contexts.delete(number);
    return number;
  }
}
