import { ServingError } from "../errors.ts";
import type { ModelRef } from "./inference-service.ts";
import type { Servable } from "./servable.ts";
import type { ServableSlot } from "./servable-slot.ts";
import { servedNames } from "./served-names.ts";

/** The servables by name and version, loaded or not; error texts are TensorFlow Serving's, which clients assert on. */
export class Catalog {
  /** Versions of each name, highest first. */
  readonly #slots = new Map<string, ServableSlot[]>();

  /** Adds a slot; throws `already_exists` for a second one of the same name and version. */
  add(slot: ServableSlot): void {
    const versions = this.#slots.get(slot.name) ?? [];
    if (versions.some(({ version }) => version === slot.version)) {
      throw new ServingError("already_exists", `Version ${slot.version} of model ${slot.name} is there already.`);
    }
    versions.push(slot);
    versions.sort((a, b) => (a.version < b.version ? 1 : -1));
    this.#slots.set(slot.name, versions);
  }

  /** Every slot. */
  slots(): readonly ServableSlot[] {
    return [...this.#slots.values()].flat();
  }

  /** The servable that a reference means: its version, else the highest one that is loaded. Version 0 stands for no version, unless there is one. */
  resolve({ model, version, label }: ModelRef): Servable {
    const name = model === "" ? this.#onlyName() : model;
    const slots = this.#slots.get(name) ?? [];
    if (label !== undefined && slots.length > 0) {
      throw new ServingError("invalid_argument", `Unrecognized servable version label: ${label}`);
    }
    const wanted = version === 0n && slots.every((slot) => slot.version !== 0n) ? undefined : version;
    for (const slot of slots) {
      if (slot.servable !== undefined && (wanted === undefined || slot.version === wanted)) return slot.servable;
    }
    throw this.#notFound(name, wanted, slots);
  }

  #notFound(name: string, version: bigint | undefined, slots: readonly ServableSlot[]): ServingError {
    const wanted = version === undefined ? `Latest(${name})` : `Specific(${name}, ${version})`;
    const isThere = slots.some((slot) => version === undefined || slot.version === version);
    const versions = slots.map((slot) => slot.version).join(", ");
    const hint = isThere ? " It is not loaded." : ` Model ${name} has version ${versions}.`;
    const served = slots.length === 0 ? servedNames(name, this.#slots.keys()) : hint;
    return new ServingError("not_found", `Servable not found for request: ${wanted}${served && `.${served}`}`);
  }

  #onlyName(): string {
    const [name, ...others] = this.#slots.keys();
    if (name !== undefined && others.length === 0) return name;
    throw new ServingError(
      "invalid_argument",
      `ModelSpec has no name specified.${servedNames("", this.#slots.keys())}`,
    );
  }
}
