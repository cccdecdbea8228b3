import { failedPrecondition } from "../errors.ts";

/** The HTTP routes that the hooks of each model declare; no two models have the same. */
export class RouteClaims {
  readonly #claims = new Set<{ readonly model: string; readonly routes: readonly string[] }>();

  /**
   * Reserves the routes for a model's hooks until the returned function is called; versions of one model share theirs.
   * Throws `failed_precondition` with both models for a route that another one has.
   */
  claim(model: string, routes: readonly string[]): () => void {
    for (const other of this.#claims) {
      const taken = other.model === model ? undefined : routes.find((route) => other.routes.includes(route));
      if (taken !== undefined) throw isTaken(taken, model, other.model);
    }
    const claim = { model, routes: routes.filter(isRoute) };
    if (claim.routes.length > 0) this.#claims.add(claim);
    return () => this.#claims.delete(claim);
  }
}

/** Checks if the name of a hook file's function is that of an HTTP route: `POST /score`. */
export function isRoute(entry: string): boolean {
  return entry.includes(" /");
}

function isTaken(route: string, model: string, other: string) {
  return failedPrecondition(
    `The hooks of the model ${model} declare the route ${route}, which those of the model ${other} have already; give one of them another path.`,
  );
}
