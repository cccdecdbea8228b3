import type { Logger } from "../observability/logger.ts";
import type { AspiredModel } from "./aspired-model.ts";
import type { CatalogModel, CatalogVersion } from "./catalog-view.ts";
import type { ServableState } from "./inference-service.ts";
import type { StateListener } from "./model-manager.ts";
import { publicError } from "./public-error.ts";
import type { VersionStatus } from "./version-status.ts";

/** Further facts for listing models. */
export interface ListedStates {
  /** Models that clients may load; their versions are listed if they are not known yet. */
  readonly loadable: readonly AspiredModel[];
  /** True while the server shuts down: available versions are about to be unloaded. */
  readonly isLeaving: boolean;
}

/** The states of every version of some models, as reported to clients. */
export function servableStates(
  models: readonly CatalogModel[],
  { loadable, isLeaving }: ListedStates,
): readonly ServableState[] {
  const known = models.flatMap((model) =>
    model.versions.map((version) => toServableState(model.statusOf(version), version)),
  );
  const names = new Set(models.map(({ name }) => name));
  const others = loadable.filter(({ name }) => !names.has(name));
  return [...(isLeaving ? known.map(toLeavingState) : known), ...others.flatMap(toUnloadedStates)];
}

function toLeavingState(known: ServableState): ServableState {
  if (known.state !== "AVAILABLE") return { ...known, isReady: false };
  return { ...known, state: "UNLOADING", isReady: false, unavailableReason: "the server is shutting down" };
}

/** Versions that have not been loaded yet. */
function toUnloadedStates({ name: model, versions }: AspiredModel): ServableState[] {
  const status = { model, state: "END", generation: 0, labels: [], isReady: false } as const;
  return versions.map(({ version, refusal }) => {
    const error = refusal && publicError(refusal);
    return { ...status, version, error, unavailableReason: error?.message ?? "not loaded" };
  });
}

function toServableState(known: VersionStatus, { servable, missing }: CatalogVersion): ServableState {
  const status = { ...known, error: known.error && publicError(known.error) };
  if (missing !== undefined) return { ...status, isReady: false, unavailableReason: publicError(missing).message };
  const isReady = servable?.isReady() ?? false;
  return { ...status, isReady, unavailableReason: isReady ? "" : unavailableReason(status) };
}

function unavailableReason({ state, error }: VersionStatus): string {
  if (state === "AVAILABLE") return "its hooks or a model are being replaced";
  return error?.message ?? REASONS[state];
}

const REASONS = { START: "waiting to be loaded", LOADING: "loading", UNLOADING: "unloading", END: "unloaded" };

/** The cause of an error, except for file-system errors, which the message describes better. */
function newsOf({ cause }: Error): unknown {
  return cause instanceof Error && "syscall" in cause ? undefined : cause;
}

/** Logs one line for each change of a version's status; a persisting error is logged once. */
export function logState(log: Logger): StateListener {
  const logged = new Map<string, string>();
  return ({ model, version, state, error, generation }) => {
    const fields = { model, version: String(version), state, generation };
    const place = `${model}/${version}`;
    if (error === undefined || logged.get(place) === error.message) log.info("model state", fields);
    // Its own stack would add nothing to the message.
    else log.error(`model state: ${error.message}`, { ...fields, code: error.code, err: newsOf(error) });
    if (error === undefined || state === "END") logged.delete(place);
    else logged.set(place, error.message);
  };
}
