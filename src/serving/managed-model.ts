import { failedPrecondition, ServingError } from "../errors.ts";
import type { Logger } from "../observability/logger.ts";
import type { AspiredModel, AspiredVersion } from "./aspired-model.ts";
import { ManagedVersion } from "./managed-version.ts";
import { ModelPlaces } from "./model-places.ts";
import { labelProblems, planForgotten, planLabels, planVersions } from "./plan/versions.ts";
import type { RequestLogOptions } from "./request-log.ts";
import type { Traffic } from "./traffic.ts";
import type { LoadPolicy } from "./version-context.ts";
import type { VersionStatus } from "./version-status.ts";

/** Settings of a model's versions. */
export interface ModelPolicy extends LoadPolicy {
  /** True while no load should begin for a model of that name, because it is about to be loaded on request. */
  readonly isHeld: (name: string) => boolean;
  readonly log: Logger;
}

/** One named model: its versions, its labels, and the version that answers if a request names none. */
export class ManagedModel {
  readonly name: string;
  readonly #policy: ModelPolicy;
  readonly #places: ModelPlaces;
  readonly #onChange: (status: VersionStatus, isNews: boolean) => void;
  /** Highest first. */
  #versions: readonly ManagedVersion[] = [];
  #labels: ReadonlyMap<string, bigint> = new Map();
  /** Messages of labels that could not be assigned, as logged last. */
  #labelProblems: readonly string[] = [];
  /** As it should be served, with the versions highest first. */
  #wish: Omit<AspiredModel, "name"> = { versions: [] };
  /** True if it was loaded only because other models need it. */
  isDependencyOnly: boolean;
  #isUnloaded = false;
  #isChanging = false;
  #current: ManagedVersion | undefined;

  /** `onChange` is called after each change of a version's status, and after an end that changes none. */
  constructor(
    { name, isDependencyOnly = false }: AspiredModel,
    policy: ModelPolicy,
    onChange: (status: VersionStatus, isNews: boolean) => void,
  ) {
    this.name = name;
    this.isDependencyOnly = isDependencyOnly;
    this.#policy = policy;
    this.#onChange = onChange;
    this.#places = new ModelPlaces(name);
  }

  /** The highest version that is available. */
  get current(): ManagedVersion | undefined {
    return this.#current;
  }

  /** True if a client has unloaded it, until it is loaded again. */
  get isUnloaded(): boolean {
    return this.#isUnloaded;
  }

  /** Names of the models that its versions need. */
  get needs(): ReadonlySet<string> {
    return new Set(this.#versions.flatMap(({ needs }) => needs));
  }

  /** True while a version that should be served has neither been loaded nor failed. */
  get isLoading(): boolean {
    return this.#versions.some(({ isWanted, isSettled }) => isWanted && !isSettled);
  }

  /** Names of the models that have to be loaded for it. */
  get wantedNeeds(): ReadonlySet<string> {
    return new Set(this.#aspired.flatMap(({ needs = [] }) => needs));
  }

  /** Checks if the models that it needs can answer; to be called after each change of a model's state. */
  checkNeeds(): void {
    for (const version of this.#versions) version.checkNeeds();
  }

  /** Routing of the requests that name no version; undefined = to the highest version. */
  get traffic(): Traffic | undefined {
    return this.#wish.traffic;
  }

  /** Files in which its requests are recorded; undefined = the server's setting. */
  get requestLog(): RequestLogOptions | undefined {
    return this.#wish.requestLog;
  }

  /** Every listed version, highest first. */
  get versions(): readonly ManagedVersion[] {
    return this.#versions;
  }

  /** Labels with their versions; a label that should move stays at its old version until the new one is available. */
  get labels(): ReadonlyMap<string, bigint> {
    return this.#labels;
  }

  /** True once every version that should be served is available or has failed. */
  get isSettled(): boolean {
    return this.#versions.every(({ isSettled }) => isSettled);
  }

  /** True when no version is loaded or should be. */
  get isOver(): boolean {
    return this.#aspired.length === 0 && this.#versions.every(({ isEnded }) => isEnded);
  }

  /** The status of one of its versions. */
  statusOf({ status, version }: Pick<ManagedVersion, "status" | "version">): VersionStatus {
    const labels = [...this.#labels].filter(([, labelled]) => labelled === version).map(([label]) => label);
    return { ...status, labels };
  }

  /** A version, loaded or not. */
  find(version: bigint): ManagedVersion | undefined {
    for (const one of this.#versions) if (one.version === version) return one;
    return undefined;
  }

  /** Changes the versions that should be served; a model that a client has unloaded stays unloaded. */
  aspire(wish: Omit<AspiredModel, "name">): void {
    const versions = wish.versions.toSorted((a, b) => (a.version < b.version ? 1 : -1));
    this.#wish = { ...wish, versions };
    this.#places.limit(wish);
    if (versions.length === 0) this.#isUnloaded = false;
    this.#route();
    this.approach();
    // Not before: until then, it is not known which of them could be loaded again.
    for (const { servable } of this.#versions) if (servable !== undefined) this.#policy.executor.look(servable);
  }

  /**
   * Loads every version that should be served again, in one attempt. Rejects, once all have loaded or failed, if one
   * has failed; the versions served before stay.
   */
  async load(): Promise<void> {
    if (this.#aspired.length === 0) throw new ServingError("not_found", `The model ${this.name} is being removed.`);
    this.#isUnloaded = false;
    const loads = this.#aspired.map((aspired) => this.#manage(aspired.version).reload(aspired));
    this.approach();
    const failed = (await Promise.allSettled(loads)).find(({ status }) => status === "rejected");
    if (failed?.status === "rejected") throw failed.reason;
  }

  /** Frees every version, until the model is to be loaded by {@link load}. */
  async unload(): Promise<void> {
    this.#isUnloaded = true;
    await Promise.all(this.#versions.map((version) => version.drop()));
  }

  /**
   * Brings its versions to what should be served, unless a load on request is about to. It stays available: an old
   * version is unloaded only once a new one can answer.
   */
  approach(): void {
    if (this.#isChanging) return;
    this.#isChanging = true;
    const isHeld = this.#aspired.length > 0 && this.#policy.isHeld(this.name);
    const [wanted, known, isUnloaded] = [this.#aspired, this.#versions, this.#isUnloaded];
    for (const action of planVersions({ wanted, known, isUnloaded, isHeld })) {
      const version = this.#manage(action.version);
      if (action.do === "drop") void version.drop();
      else if (action.do === "aspire") version.aspire(action.files);
      else version.describe(action.files);
    }
    const forgotten = planForgotten({ wanted, known: this.#versions });
    this.#versions = this.#versions.filter(({ version }) => !forgotten.includes(version));
    this.#isChanging = false;
    if (!isHeld && this.isSettled) this.#warnOfLabels();
  }

  get #aspired(): readonly AspiredVersion[] {
    return this.#wish.versions;
  }

  /** Logs the labels that are not assigned as they should be; each once, as long as that lasts. */
  #warnOfLabels(): void {
    const problems = labelProblems(this.name, { wanted: this.#wish.labels ?? {}, assigned: this.#labels });
    for (const text of problems) if (!this.#labelProblems.includes(text)) this.#policy.log.warn(text);
    this.#labelProblems = problems;
  }

  /** Throws `failed_precondition` for a label whose version is not the one that it should be. */
  assertLabels(labels: Readonly<Record<string, bigint>>): void {
    const [problem] = labelProblems(this.name, { wanted: labels, assigned: this.#labels });
    if (problem !== undefined) throw failedPrecondition(problem);
  }

  #manage(version: bigint): ManagedVersion {
    const known = this.find(version);
    if (known !== undefined) return known;
    const managed = new ManagedVersion(this.name, version, {
      policy: this.#policy,
      places: this.#places,
      use: (one) => ({
        idleMs: this.#wish.idleUnloadMs ?? this.#policy.loading.idleUnloadMs,
        isPresent: this.#wish.present?.includes(one) ?? this.#aspired.some((aspired) => aspired.version === one),
      }),
      log: this.#policy.log,
      change: (changed, isNews) => this.#change(changed, isNews),
    });
    this.#versions = [...this.#versions, managed].sort((a, b) => (a.version < b.version ? 1 : -1));
    return managed;
  }

  #change(changed: ManagedVersion, isNews: boolean): void {
    this.#route();
    this.#onChange(this.statusOf(changed), isNews);
    this.approach();
  }

  #route(): void {
    const served = this.#versions.filter(({ isServed }) => isServed);
    this.#current = served[0];
    const { allowLabelsForUnavailable: allowUnavailable } = this.#policy.loading;
    const [wanted, assigned] = [this.#wish.labels ?? {}, this.#labels];
    this.#labels = planLabels({ wanted, assigned, served: served.map(({ version }) => version), allowUnavailable });
  }
}
