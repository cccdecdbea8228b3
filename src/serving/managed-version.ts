import { ServingError } from "../errors.ts";
import { unlessAborted } from "../platform/async/cancel-source.ts";
import { settlesWithin } from "../platform/async/promises.ts";
import type { AspiredVersion } from "./aspired-model.ts";
import type { LoadRun } from "./load-run.ts";
import type { ModelPlaces } from "./model-places.ts";
import type { LoadLimits, Step } from "./plan/loads.ts";
import { RETIRE_MS } from "./plan/residence.ts";
import type { Servable } from "./servable.ts";
import { ServedCopy } from "./served-copy.ts";
import type { VersionContext } from "./version-context.ts";
import { VersionNeeds } from "./version-needs.ts";
import type { VersionState, VersionStatus } from "./version-status.ts";
import { keptFacts, TargetPursuit, VersionTarget } from "./version-target.ts";

/** One version of a model, which is loaded, reloaded and unloaded, one change at a time. */
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
  /** The target whose files are those of the servable. */
  #loaded: VersionTarget | undefined;
  /** The beginning of the last load, or of the last change of hooks alone, on the clock of performance.now(). */
  #hooksReadAt = 0;
  readonly #needs: VersionNeeds;
  readonly #pursuit = new TargetPursuit({
    load: (target, signal) => this.#load(target, signal),
    unload: (target, signal) => this.#unload(target, signal),
    isLoading: () => this.#run?.isLoading === true,
    // Its dependencies may have changed meanwhile.
    onReached: () => this.checkNeeds(),
  });
  /** The load for a target that runs; it would hold the servable. */
  #run: LoadRun | undefined;

  constructor(model: string, version: bigint, on: VersionContext<ManagedVersion>) {
    this.model = model;
    this.version = version;
    this.places = on.places;
    this.#policy = on.policy;
    this.#needs = new VersionNeeds(on.policy);
    this.#on = on;
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
    return this.#state === "END" ? [] : this.#needs.all;
  }

  /** As {@link VersionNeeds.isLeaving}. */
  isLeaving(need: string): boolean {
    return this.#needs.isLeaving(need, { next: this.#pursuit.target, loaded: this.#loaded });
  }

  /** True while it has something left to finish, and is not wanted any more. */
  get isEnding(): boolean {
    return !this.isWanted && this.#state !== "END";
  }

  /** The reason why its requests fail for want of a model that it needs. */
  get missing(): ServingError | undefined {
    return this.#needs.missing;
  }

  /** True when it should be loaded. */
  get isWanted(): boolean {
    return this.#pursuit.target.aspired !== undefined;
  }

  /** The reason why the last load was rejected, until one succeeds. */
  get failure(): unknown {
    return this.#failure;
  }

  /** True once its last target is reached, or has failed at least once. */
  get isSettled(): boolean {
    return this.#pursuit.target.isSettled;
  }

  /**
   * Loads these files, or their hooks alone if nothing else has changed, unless that is what it loads or has loaded,
   * or failed to load, already.
   */
  aspire(aspired: AspiredVersion): void {
    if (this.#pursuit.target.aspired?.fingerprint === aspired.fingerprint) {
      this.#pursuit.target.aspired = aspired;
      return;
    }
    const retries = aspired.refusal === undefined ? this.#policy.loading.loadRetries : 0;
    void this.#pursuit.aim(new VersionTarget(aspired, { retries, mayKeepModel: true }));
  }

  /** Loads these files again, in one try. What was loaded answers until they do; it stays if this rejects. */
  reload(aspired: AspiredVersion): Promise<void> {
    return this.#pursuit.aim(new VersionTarget(aspired));
  }

  /**
   * Replaces the hooks by their file as it is now, unless they were read after `since`, on the clock of
   * performance.now(). Waits for a load that is under way, which may have read older ones. If the new ones fail, the
   * old ones stay, the status gives the reason, and this throws it.
   */
  async reloadHooks(since = performance.now()): Promise<void> {
    if (this.#pursuit.isBusy && !this.#pursuit.target.isSettled) await this.#pursuit.target.done;
    if (this.#hooksReadAt >= since) return;
    const servable = this.#servable;
    if (servable === undefined || servable.sources().length === 0) return;
    // Files that have been replaced and do not load have a reason of their own, unless they differ in the hooks alone.
    const isCurrent = () => this.#servable === servable && this.#isLoadedButForHooks(this.#pursuit.target);
    try {
      await servable.reload();
    } catch (reason) {
      if (isCurrent()) this.#enter("AVAILABLE", reason);
      throw reason;
    }
    if (!isCurrent()) return this.#loaded?.doubt();
    this.#loaded = this.#pursuit.target;
    this.#generation++;
    this.#enter("AVAILABLE", undefined);
  }

  #isLoadedButForHooks(target: VersionTarget): boolean {
    const print = target.aspired?.modelFingerprint;
    return target === this.#loaded || (print !== undefined && print === this.#loaded?.aspired?.modelFingerprint);
  }

  /** Takes no new requests, finishes those under way, frees the model; resolves once it is freed. */
  drop(): Promise<void> {
    return this.#pursuit.target.aspired === undefined
      ? this.#pursuit.target.done
      : this.#pursuit.aim(new VersionTarget(undefined));
  }

  /** Checks if the models that it needs can answer; to be called after each change of a model's state. */
  checkNeeds(): void {
    this.#renew();
    if (this.#needs.check(this.#servable)) this.#on.change(this, true);
  }

  /** Loads it again if a model that it needs now takes or gives something else than when it was loaded. */
  #renew(): void {
    const { aspired } = this.#pursuit.target;
    if (this.#servable === undefined || aspired === undefined || this.#pursuit.isBusy) return;
    // A failure is reported by its state.
    if (this.#needs.haveChangedSince(this.#servable)) void this.reload(aspired).catch(() => {});
  }

  async #load(target: VersionTarget, signal: AbortSignal): Promise<void> {
    this.#needs.names = target.aspired?.needs ?? [];
    if (this.#servable === undefined) this.#enter("START", undefined);
    this.#run = this.#policy.executor.load({
      // Equal files may have been described again before a further try.
      version: () => target.aspired as AspiredVersion,
      signal,
      limits: this.#limits(target.retries),
      facts: () => ({
        ...keptFacts(target, this.#loaded, this.#servable),
        hasNeeds: this.#needs.names.length > 0,
        isFetched: target.aspired?.prepare !== undefined,
        // By now, something else may be wanted.
        isWanted: this.#pursuit.target === target,
      }),
      prepare: (step) => this.#prepare(step, target, signal),
      onKeep: () => this.#reach(target),
      onLoad: () => {
        if (this.#servable === undefined) this.#enter("LOADING", this.#failure);
        this.#hooksReadAt = performance.now();
      },
      onFailure: (reason, isTriedAgain) => this.#fail(target, reason, isTriedAgain),
    });
    const loaded = await this.#run.result.catch(() => undefined);
    this.#run = undefined;
    if (loaded !== undefined) await this.#replace(target, loaded);
  }

  async #prepare(step: Step, target: VersionTarget, signal: AbortSignal): Promise<void> {
    if (step === "hooks") return this.#replaceHooks(target, signal);
    if (step === "needs") return this.#waitForNeeds(target, signal);
    if (this.#servable === undefined) this.#enter("LOADING", this.#failure);
    await target.aspired?.prepare?.(signal);
  }

  #limits(retries: number): LoadLimits {
    const { loadTimeoutMs: timeoutMs, loadRetryMs: maxPauseMs } = this.#policy.loading;
    return { version: this.version, timeoutMs, retries, maxPauseMs };
  }

  async #waitForNeeds(target: VersionTarget, signal: AbortSignal): Promise<void> {
    const onProblem = (problem: ServingError) => {
      target.fail(problem);
      this.#enter(this.#servable === undefined ? "START" : "AVAILABLE", problem);
    };
    const reported = await this.#needs.wait({ signal, onProblem, allVersions: target.aspired?.needsVersions === true });
    if (this.#failure === reported) this.#failure = undefined;
  }

  /** Requests that have begun end with the old hooks; they are not waited for if something else is wanted. */
  async #replaceHooks(target: VersionTarget, signal: AbortSignal): Promise<void> {
    this.#hooksReadAt = performance.now();
    this.#loaded?.doubt();
    await unlessAborted((this.#servable as ServedCopy).reload(), signal);
    this.#generation++;
    this.#reach(target);
  }

  #reach(target: VersionTarget): void {
    this.#loaded = target;
    target.reach();
    this.#enter("AVAILABLE", undefined);
  }

  /** A servable that is unloaded while idle, unless its files were replaced or are gone: it would not load then. */
  #onDemand(loaded: Servable): ServedCopy {
    const isCurrent = () => this.#pursuit.target === this.#loaded;
    const servable: ServedCopy = new ServedCopy(loaded, {
      ...this.#on,
      mayPark: () => isCurrent() && this.#on.isPresent(this.version),
      isNeeded: () => this.#policy.needed.dependentsOf(this.model).length > 0,
      load: (order) => {
        // A replaced copy is loaded for its last requests alone.
        const facts = () => ({ isWanted: this.#servable === servable || !servable.leases.isIdle });
        const version = () => this.#loaded?.aspired as AspiredVersion;
        return this.#policy.executor.load({ ...order, version, limits: this.#limits(0), facts });
      },
      onLoad: (failure) => {
        const isNews = failure !== undefined || this.#failure !== undefined;
        if (isNews && this.#servable === servable && isCurrent()) this.#enter("AVAILABLE", failure);
      },
    });
    return servable;
  }

  async #replace(target: VersionTarget, loaded: Servable): Promise<void> {
    const old = this.#servable;
    this.#servable = this.#onDemand(loaded);
    this.#generation++;
    this.#needs.load(target.aspired?.needs);
    this.#reach(target);
    if (old !== undefined) await this.#retire(old);
  }

  async #retire(old: Servable): Promise<void> {
    await settlesWithin(old.leases.idle(), RETIRE_MS);
    await old.close().catch((reason) => {
      this.#failure = reason;
    });
    if (this.#needs.forgetRetired()) this.#policy.needed.changed();
  }

  #fail(target: VersionTarget, reason: unknown, isTriedAgain: boolean): void {
    target.fail(reason);
    this.#hooksReadAt = 0;
    const state = isTriedAgain ? "LOADING" : "END";
    this.#enter(this.#servable === undefined ? state : "AVAILABLE", reason);
  }

  async #unload(target: VersionTarget, signal: AbortSignal): Promise<void> {
    const { needed } = this.#policy;
    if (this.#servable !== undefined && needed.dependentsOf(this.model).length > 0) {
      await needed.letGo(this.model, signal);
      if (signal.aborted) return;
    }
    const old = this.#servable;
    if (old !== undefined) {
      this.#servable = undefined;
      this.#needs.load(undefined);
      this.#enter("UNLOADING", undefined);
      await this.#retire(old);
    }
    target.reach();
    this.#enter("END", this.#failure);
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
