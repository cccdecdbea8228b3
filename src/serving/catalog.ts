import { ServingError } from "../errors.ts";
import type { ModelRef } from "./inference-service.ts";
import type { Servable } from "./servable.ts";

/** The available servables, by name and version; error texts are TensorFlow Serving's, which clients assert on. */
export class Catalog {
  /** Versions of each name, highest first. */
  readonly #servables = new Map<string, Servable[]>();

  /** Makes a servable available; throws `already_exists` for a second one of the same name and version. */
  add(servable: Servable): void {
    const versions = this.#servables.get(servable.name) ?? [];
    if (versions.some(({ version }) => version === servable.version)) {
      throw new ServingError(
        "already_exists",
        `Version ${servable.version} of model ${servable.name} is there already.`,
      );
    }
    versions.push(servable);
    versions.sort((a, b) => (a.version < b.version ? 1 : -1));
    this.#servables.set(servable.name, versions);
  }

  /** Every available servable. */
  list(): readonly Servable[] {
    return [...this.#servables.values()].flat();
  }

  /** The servable that a reference means: its version, else the highest one. */
  resolve({ model, version, label }: ModelRef): Servable {
    const name = model === "" ? this.#onlyName() : model;
    const versions = this.#servables.get(name) ?? [];
    if (label !== undefined && versions.length > 0) {
      throw new ServingError("invalid_argument", `Unrecognized servable version label: ${label}`);
    }
    const found = version === undefined ? versions[0] : versions.find((servable) => servable.version === version);
    if (found !== undefined) return found;
    const wanted = version === undefined ? `Latest(${name})` : `Specific(${name}, ${version})`;
    throw new ServingError("not_found", `Servable not found for request: ${wanted}`);
  }

  #onlyName(): string {
    const [name, ...others] = this.#servables.keys();
    if (name !== undefined && others.length === 0) return name;
    throw new ServingError("invalid_argument", "ModelSpec has no name specified.");
  }
}
