import type { AspiredModel } from "../serving/aspired-model.ts";
import type { OverriddenModel } from "./overrides.ts";

/** Models as clients have described them, in place of those of the sources. */
export class OverriddenModels {
  readonly #models = new Map<string, OverriddenModel>();

  /** As they should be served. */
  get aspired(): readonly AspiredModel[] {
    return Array.from(this.#models.values(), ({ model }) => model);
  }

  names(): readonly string[] {
    return [...this.#models.keys()];
  }

  get(name: string): OverriddenModel | undefined {
    return this.#models.get(name);
  }

  /** Adds a model, or replaces one. */
  set(name: string, model: OverriddenModel): void {
    this.delete(name);
    this.#models.set(name, model);
  }

  /** Returns false where there is none. */
  delete(name: string): boolean {
    this.#models.get(name)?.remove();
    return this.#models.delete(name);
  }

  clear(): void {
    for (const name of this.names()) this.delete(name);
  }
}
