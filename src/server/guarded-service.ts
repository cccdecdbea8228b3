import { type CallScope, currentScope } from "../access/call-scope.ts";
import { invalidArgument, ServingError } from "../errors.ts";
import type { PoisonCount } from "../pipeline/poison/poison-watch.ts";
import type { HookRoutes } from "../serving/hook-routes.ts";
import type {
  DescribedModel,
  IndexScope,
  InferenceService,
  Lease,
  LoadOverrides,
  ModelRef,
  ModelsCall,
  NamedStatistics,
  RequestCount,
  ServableState,
  UnloadOptions,
} from "../serving/inference-service.ts";
import type { LoadCounts } from "../serving/load-counter.ts";
import { errorFor } from "../serving/naming-error.ts";
import type { RecordedCount } from "../serving/recorded-count.ts";
import { servedNames } from "../serving/served-names.ts";
import type { RoutedRequest } from "../serving/traffic.ts";

/**
 * A service for calls whose callers have names: each finds the models that it may name, and no others. A call that was
 * not let in by its transport finds nothing.
 */
export class GuardedService implements Required<InferenceService> {
  readonly #service: InferenceService;

  constructor(service: InferenceService) {
    this.#service = service;
  }

  acquire(ref: ModelRef, request?: RoutedRequest): Lease | Promise<Lease> {
    const scope = requireScope();
    if (scope.isWhole) return this.#service.acquire(ref, request);
    const model = ref.model === "" ? this.#onlyModel() : this.nameOf(ref.model);
    scope.assertModel(model);
    return withoutNames(() => this.#service.acquire({ ...ref, model }, request));
  }

  nameOf(model: string): string {
    return this.#service.nameOf?.(model) ?? model;
  }

  index(wanted?: IndexScope): readonly ServableState[] {
    const scope = requireScope();
    const states = known(this.#service.index(wanted));
    return scope.isWhole ? states : states.map((state) => heard(state, scope));
  }

  async statistics(): Promise<readonly NamedStatistics[]> {
    return known(await this.#service.statistics());
  }

  inFlight(): RequestCount | undefined {
    return this.#service.inFlight?.();
  }

  loads(): readonly LoadCounts[] {
    return known(this.#service.loads?.() ?? []);
  }

  poisonCounts(): readonly PoisonCount[] {
    return known(this.#service.poisonCounts?.() ?? []);
  }

  recorded(): readonly RecordedCount[] {
    return known(this.#service.recorded?.() ?? []);
  }

  async load(model: string, overrides?: LoadOverrides): Promise<void> {
    const scope = requireScope();
    scope.assertModel(this.nameOf(model));
    await heardBy(scope, this.#service.load(model, overrides));
  }

  async unload(model: string, options?: UnloadOptions): Promise<void> {
    const scope = requireScope();
    scope.assertModel(this.nameOf(model));
    if (options?.dependents === true) scope.assertControlsAll();
    await heardBy(scope, this.#service.unload(model, options));
  }

  async reconfigure(models: readonly DescribedModel[]): Promise<void> {
    requireScope().assertControlsAll();
    await this.#service.reconfigure(models);
  }

  async rescan(): Promise<void> {
    requireScope().assertControlsAll();
    await this.#service.rescan();
  }

  /** Looked up before a call is let in, which then finds its model as every call does. */
  hookRoutes(): HookRoutes {
    return this.#service.hookRoutes?.() ?? new Map();
  }

  onHookRoutes(listener: Parameters<NonNullable<InferenceService["onHookRoutes"]>>[0]): void {
    this.#service.onHookRoutes?.(listener);
  }

  mayAnswerInParts(): boolean {
    return this.#service.mayAnswerInParts?.() ?? false;
  }

  async withModels(call: ModelsCall, model?: string): Promise<InferenceService> {
    const scope = requireScope();
    if (model !== undefined && model !== "" && !scope.isWhole) scope.assertModel(this.nameOf(model));
    const known = await this.#service.withModels?.(call, model);
    return known === undefined ? this : new GuardedService(known);
  }

  isReady(): boolean {
    return this.#service.isReady();
  }

  onReadiness(listener: (ready: boolean) => void): () => void {
    return this.#service.onReadiness(listener);
  }

  /** The model that is meant if none is named. */
  #onlyModel(): string {
    const names = [...new Set(this.index().map(({ model }) => model))];
    if (names.length === 1) return names[0] as string;
    throw invalidArgument(`ModelSpec has no name specified.${servedNames("", names)}`);
  }
}

/** The scope of the present call; throws `unauthenticated` if there is none. */
function requireScope(): CallScope {
  const scope = currentScope();
  if (scope !== undefined) return scope;
  throw new ServingError("unauthenticated", "The call was not authenticated.");
}

/** Those of the models that the call may know of. */
function known<One extends { readonly model: string }>(all: readonly One[]): readonly One[] {
  const scope = requireScope();
  return scope.isWhole ? all : all.filter(({ model }) => scope.knows(model));
}

/** The state of a version with as much of its error as the call may know. */
function heard(state: ServableState, scope: CallScope): ServableState {
  const error = state.error && errorFor(state.error, (model) => scope.hears(model));
  if (error === state.error) return state;
  const { unavailableReason } = state;
  return { ...state, error, unavailableReason: unavailableReason && (error?.message ?? unavailableReason) };
}

async function heardBy(scope: CallScope, call: Promise<void>): Promise<void> {
  await call.catch((reason) => {
    throw errorFor(ServingError.from(reason), (model) => scope.hears(model));
  });
}

/** Leaves out of an error which models there are. */
function withoutNames<Result>(acquire: () => Result | Promise<Result>): Result | Promise<Result> {
  try {
    const acquired = acquire();
    return acquired instanceof Promise ? acquired.catch((reason) => Promise.reject(nameless(reason))) : acquired;
  } catch (reason) {
    throw nameless(reason);
  }
}

/** The text of TensorFlow Serving ends where ours begins. */
function nameless(reason: unknown): unknown {
  if (!(reason instanceof ServingError) || reason.code !== "not_found") return reason;
  return new ServingError("not_found", reason.message.replace(/\)\. .*$/s, ")"));
}
