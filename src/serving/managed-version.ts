import { ServingError } from "../errors.ts";
import { unlessAborted } from "../platform/async/cancel-source.ts";
import type { AspiredVersion } from "./aspired-model.ts";
import { type LoadRun, limitsOf } from "./load-run.ts";
import type { ModelPlaces } from "./model-places.ts";
import type { ChangeAction, Dependent, HooksAction } from "./plan/changes.ts";
import type { LoadAction } from "./plan/loads.ts";
import type { Servable } from "./servable.ts";
import { ServedCopy } from "./served-copy.ts";
import type { VersionContext } from "./version-context.ts";
import { VersionNeeds } from "./version-needs.ts";
import type { VersionState, VersionStatus } from "./version-status.ts";
import { keptUnder, TargetPursuit, VersionTarget } from "./version-target.ts";

/** One version of a model, which is loaded, reloaded and unloaded, one change at a time, as its plan says. */
export class ManagedVersion {
  readonly model: string;
  readonly version: bigint;
  /** The places for requests of its model. */
  readonly places: ModelPlaces;
  readonly #on: VersionContext<ManagedVersion>;
  readonly #policy: VersionContext<ManagedVersion>["policy"];
  #state: VersionState = "START";
  #failure: unknown;
  #generation = 0;
  #servable: ServedCopy | undefined;
  /** The beginning of the last load, or of the last change of hooks alone, on the clock of performance.now(). */
  #hooksReadAt = 0;
  readonly #needs: VersionNeeds;
  readonly #pursuit: TargetPursuit;
  /** The load that runs; it would hold the servable. */
  #run: LoadRun | undefined;
  /** The copy that answered before. */
  #former: ServedCopy | undefined;

  constructor(model: string, version: bigint, on: VersionContext<ManagedVersion>) {
    this.model = model;
    this.version = version;
    this.places = on.places;
    this.#policy = on.policy;
    this.#needs = new VersionNeeds(on.policy.needed);
    this.#on = on;
    this.#pursuit = new TargetPursuit({
      turns: on.policy.executor.turns,
      facts: () => ({
        isLoading: this.#run?.isLoading === true,
        isServed: this.isServed,
        isStale: this.#needs.areOthersThan(this.#servable),
        isHeld: this.#former?.leases.isHeld === true,
      }),
      dependents: () => this.#policy.needed.dependents(this.model),
      hooks: () => ({ copy: this.#servable, readAt: this.#hooksReadAt }),
      act: (action, target, signal) => this.#act(action, target, signal),
      endHooks: (action) => this.#endHooks(action),
    });
  }

  /** The servable that answers now, loaded or about to load when it is asked; undefined while there is none. */
  get servable(): ServedCopy | undefined {
    return this.#servable;
  }

  get status(): Omit<VersionStatus, "labels"> {
    const { model, version } = this;
    const error = this.#failure === undefined ? this.missing : ServingError.from(this.#failure);
    return { model, version, state: this.#state, error, generation: this.#generation };
  }

  /** Names of the models that it cannot do without; empty once it has ended. */
  get needs(): readonly string[] {
    return this.isEnded ? [] : this.#needs.all;
  }

  /** As it matters to a model that it needs, and that should go. */
  asDependentOf(need: string): Dependent {
    const { target, loaded } = this.#pursuit;
    const { aspired, isSettled } = target;
    const [isWanted, willNeed] = [aspired !== undefined, aspired?.needs?.includes(need) === true];
    const namesVersion = loaded?.aspired?.needsVersions === true;
    return { isWanted, willNeed, isSettled, namesVersion, isRetiring: this.#needs.retiring.includes(need) };
  }

  /** The reason why its requests fail for want of a model that it needs. */
  get missing(): ServingError | undefined {
    return this.#needs.missing;
  }

  /** The files that it should have; undefined = it should be unloaded. */
  get aspired(): AspiredVersion | undefined {
    return this.#pursuit.target.aspired;
  }

  /** True once it is unloaded, or its load has failed for good. */
  get isEnded(): boolean {
    return this.#state === "END";
  }

  /** True when it should be loaded. */
  get isWanted(): boolean {
    return this.aspired !== undefined;
  }

  /** True while it answers, be it that it has to be loaded for that. */
  get isServed(): boolean {
    return this.#servable !== undefined;
  }

  /** The reason why the last load was rejected, until one succeeds. */
  get failure(): unknown {
    return this.#failure;
  }

  /** True once its last target is reached, or has failed at least once. */
  get isSettled(): boolean {
    return this.#pursuit.isSettled;
  }

  /**
   * Loads these files, or their hooks alone if nothing else has changed, unless that is what it has loaded already;
   * with `isOrdered` in any case.
   */
  aspire(aspired: AspiredVersion, isOrdered = false): void {
    const retries = aspired.refusal === undefined ? this.#policy.loading.loadRetries : 0;
    void this.#pursuit.aim(new VersionTarget(aspired, { retries, isOrdered }));
  }

  /** Takes over how the files that it should have are described now. */
  describe(aspired: AspiredVersion): void {
    this.#pursuit.target.aspired = aspired;
  }

  /** Loads these files again, in one try. What was loaded answers until they do; it stays if this rejects. */
  reload(aspired: AspiredVersion): Promise<void> {
    return this.#pursuit.aim(new VersionTarget(aspired, { isOrdered: true }));
  }

  /**
   * Replaces the hooks by their file as it is now, once a load that is under way is over, unless they were read after
   * `since`, on the clock of performance.now(). Rejects with the reason why the new ones fail: the old ones stay then.
   */
  reloadHooks(since = performance.now()): Promise<void> {
    return this.#pursuit.renewHooks(since);
  }

  /** Takes no new requests, finishes those under way, frees the model; resolves once it is freed. */
  drop(): Promise<void> {
    return this.isWanted ? this.#pursuit.aim(new VersionTarget(undefined)) : this.#pursuit.target.done;
  }

  /** Checks if the models that it needs can answer; to be called after each change of a model's state. */
  checkNeeds(): void {
    if (this.#needs.check(this.#servable)) this.#on.change(this, true);
  }

  #act(action: ChangeAction, target: VersionTarget, signal: AbortSignal): void {
    if (action.do === "load") this.#load(target, signal);
    else if (action.do === "retire") this.#retire();
    else if (action.do === "free") void this.#free();
    else if (action.do === "renew") {
      this.#needs.renewFor(this.#servable);
      this.aspire(target.aspired as AspiredVersion, true);
    } else if (action.do === "end") {
      target.reach();
      this.#enter("END", this.#failure);
    }
  }

  #load(target: VersionTarget, signal: AbortSignal): void {
    this.#needs.begin(target.aspired);
    if (this.#servable === undefined) this.#enter("START", undefined);
    this.#run = this.#policy.executor.load({
      // Equal files may have been described again before a further try.
      version: () => target.aspired as AspiredVersion,
      signal,
      limits: limitsOf(this, target.retries, this.#policy.loading),
      facts: () => ({
        kept: keptUnder(target, this.#pursuit.loaded, this.#servable),
        hasNeeds: (target.aspired?.needs ?? []).length > 0,
        lack: this.#needs.lack,
        isFetched: target.aspired?.prepare !== undefined,
        isWanted: this.#pursuit.target === target,
      }),
      prepare: async (step) =>
        step === "hooks" ? this.#replaceHooks(target, signal) : target.aspired?.prepare?.(signal),
      onAction: (action) => this.#show(action, target),
    });
    void this.#run.result
      .catch(() => undefined)
      .then((loaded) => {
        this.#run = undefined;
        if (loaded !== undefined) this.#replace(target, loaded);
        this.#pursuit.tell({ is: "loaded", hasFormer: this.#former !== undefined });
      });
  }

  /** Changes the status as a load goes on. */
  #show(action: LoadAction, target: VersionTarget): void {
    if (action.do === "tell") this.#fail(target, this.#needs.tell(action), "START");
    else if (action.do === "go on" && this.#needs.wasTold(this.#failure)) this.#failure = undefined;
    else if (action.do === "keep") this.#reach(target, 0);
    else if (action.do === "fail") this.#fail(target, action.reason, action.isTriedAgain ? "LOADING" : "END");
    else if (action.do === "load" || (action.do === "prepare" && action.step === "files")) {
      if (this.#servable === undefined) this.#enter("LOADING", this.#failure);
    }
    if (action.do === "load") this.#hooksReadAt = performance.now();
    if (action.do === "fail") this.#hooksReadAt = 0;
  }

  #replace(target: VersionTarget, loaded: Servable): void {
    this.#former = this.#servable;
    this.#servable = this.#onDemand(loaded);
    this.#former?.giveWay(this.#servable);
    this.#needs.load(target.aspired?.needs);
    this.#reach(target);
  }

  /** Requests that have begun end with the old hooks; they are not waited for if something else is wanted. */
  async #replaceHooks(target: VersionTarget, signal: AbortSignal): Promise<void> {
    this.#hooksReadAt = performance.now();
    if (this.#pursuit.loaded !== undefined) this.#pursuit.loaded.isInDoubt = true;
    await unlessAborted((this.#servable as ServedCopy).reload(), signal);
    this.#reach(target);
  }

  /** `loads`: number of loads that this took. */
  #reach(target: VersionTarget, loads = 1): void {
    target.reach();
    this.#generation += loads;
    this.#pursuit.loaded = target;
    this.#enter("AVAILABLE", undefined);
  }

  #endHooks(action: HooksAction): void {
    if (action.do === "reach") this.#reach(this.#pursuit.target);
    if (action.do !== "refuse") return;
    if (action.isTold) this.#enter("AVAILABLE", action.reason);
    throw action.reason;
  }

  /** A servable that is unloaded while idle. */
  #onDemand(loaded: Servable): ServedCopy {
    const isCurrent = () => this.#pursuit.target === this.#pursuit.loaded;
    const servable: ServedCopy = new ServedCopy(loaded, {
      ...this.#on,
      use: () => ({ ...this.#on.use(this.version), isCurrent: isCurrent() }),
      isNeeded: () => this.#policy.needed.dependentsOf(this.model).length > 0,
      load: (order) => {
        // One that does not answer any more is loaded for its last requests alone.
        const facts = () => ({ isWanted: this.#servable === servable || !servable.leases.isIdle });
        const version = () => this.#pursuit.loaded?.aspired as AspiredVersion;
        const limits = limitsOf(this, 0, this.#policy.loading);
        return this.#policy.executor.load({ ...order, version, limits, facts });
      },
      onFree: () => {
        this.#policy.executor.memory.changed();
        if (this.#former === servable) this.#pursuit.lookSoon();
      },
      onLoad: (failure) => {
        this.#policy.executor.turns.changed();
        const isNews = failure !== undefined || this.#failure !== undefined;
        if (isNews && this.#servable === servable && isCurrent()) this.#enter("AVAILABLE", failure);
      },
    });
    return servable;
  }

  /** `state`: where that leaves it, unless something answers. */
  #fail(target: VersionTarget, reason: unknown, state: VersionState): void {
    target.fail(reason);
    this.#enter(this.#servable === undefined ? state : "AVAILABLE", reason);
  }

  #retire(): void {
    this.#former = this.#servable;
    this.#servable = undefined;
    this.#needs.load(undefined);
    this.#enter("UNLOADING", undefined);
  }

  async #free(): Promise<void> {
    await this.#former?.close().catch((reason) => {
      this.#failure = reason;
    });
    this.#former = undefined;
    this.#needs.forgetRetired();
    this.#policy.executor.turns.changed();
    this.#pursuit.tell({ is: "freed" });
  }

  #enter(state: VersionState, failure: unknown): void {
    const isNews = state !== this.#state || failure !== this.#failure || state === "AVAILABLE" || state === "START";
    // One that has ended may have reached another target, which others wait for.
    if (!isNews && state !== "END") return;
    this.#state = state;
    this.#failure = failure;
    this.#on.change(this, isNews);
  }
}
