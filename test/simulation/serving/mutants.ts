/** A deliberate fault of what decides, or does, what is served. */
export interface Mutant {
  /** The fault, as the end of "a server that ...". */
  readonly what: string;
  /** Path below `src/serving/`. */
  readonly file: string;
  /** Text that is there once, and what takes its place. */
  readonly from: string;
  readonly to: string;
}

/** Each is found by the simulation within this number of histories. */
export const MUTANT_HISTORIES = 400;

/** Faults of the plan, of the executor, and of what they act on. */
export const MUTANTS: readonly Mutant[] = [
  {
    what: "loads as many models at once as there are",
    file: "plan/loads.ts",
    from: "when: (_, { hasTurn }) => hasTurn,",
    to: "when: () => true,",
  },
  {
    what: "gives a load's place away before the load that is given up has ended",
    file: "plan/loads.ts",
    from: "hasPlace: hasPlace(load), until: now + GRACE_MS",
    to: "hasPlace: false, until: now + GRACE_MS",
  },
  {
    what: "does not try again what has failed",
    file: "plan/loads.ts",
    from: "triesLeft === 0 || !isWanted",
    to: "triesLeft >= 0 || !isWanted",
  },
  {
    what: "never gives up a load",
    file: "plan/loads.ts",
    from: "when: ({ until }, _, now) => until <= now,\n    act: (_, { limits })",
    to: "when: () => false,\n    act: (_, { limits })",
  },
  {
    what: "goes on with a load that nobody wants any more",
    file: "plan/loads.ts",
    from: 'row("L1", ["loading"], {\n    when: (_, { cancelled }) => cancelled !== undefined,',
    to: 'row("L1", ["loading"], {\n    when: () => false,',
  },
  {
    what: "waits for a load that was given up as long as that takes",
    file: "plan/loads.ts",
    from: 'row("L7", ["leaving"], { when: ({ until }, _, now) => until <= now,',
    to: 'row("L7", ["leaving"], { when: () => false,',
  },
  {
    what: "begins a load whose models are not there",
    file: "plan/loads.ts",
    from: "after === undefined && hasNeeds,",
    to: "false && hasNeeds,",
  },
  {
    what: "lets a load wait for a place that another load waits for",
    file: "plan/loads.ts",
    from: "when: (_, { isAtOnce }) => isAtOnce, act",
    to: "when: () => false, act",
  },
  {
    what: "unloads a copy that a request holds",
    file: "plan/residence.ts",
    from: "return !isHeld && isCurrent && isPresent;",
    to: "return isCurrent && isPresent;",
  },
  {
    what: "unloads a copy whose files are gone",
    file: "plan/residence.ts",
    from: "return !isHeld && isCurrent && isPresent;",
    to: "return !isHeld && isCurrent;",
  },
  {
    what: "unloads a copy while other files are wanted",
    file: "plan/residence.ts",
    from: "return !isHeld && isCurrent && isPresent;",
    to: "return !isHeld && isPresent;",
  },
  {
    what: "waits for memory that is not given back as long as that takes",
    file: "plan/residence.ts",
    from: "when: ({ until }, _, now) => until <= now, act",
    to: "when: () => false, act",
  },
  {
    what: "loads more than the memory of all",
    file: "plan/memory.ts",
    from: "if (lacking <= 0 && isFree) return",
    to: "if (lacking <= 10 && isFree) return",
  },
  {
    what: "does not look again once a copy is idle",
    file: "lease-count.ts",
    from: "if (this.#count === 0) this.#onFree();",
    to: "",
  },
  {
    what: "tells nobody that a place is free",
    file: "load-run.ts",
    from: "if (this.#first !== undefined && this.#free > 0) this.#turns.takeSoon(this.#first);",
    to: "",
  },
  {
    what: "lets no place go",
    file: "load-run.ts",
    from: "this.#free += Number(loads.hasPlace(from)) - Number(loads.hasPlace(to));",
    to: "this.#free -= Number(loads.hasPlace(to) && !loads.hasPlace(from));",
  },
  {
    what: "wakes up once",
    file: "turns.ts",
    from: "this.#wakeBy(next);",
    to: "",
  },
  {
    what: "keeps what is loaded too late",
    file: "load-run.ts",
    from: "await servable.close();",
    to: "",
  },
  {
    what: "leaves requests waiting whose model could not be loaded",
    file: "served-copy.ts",
    from: 'policy.executor.tell(this, { is: "failed", error });\n      this.#arrive().reject(error);',
    to: 'policy.executor.tell(this, { is: "failed", error });',
  },
  {
    what: "frees a model at once although requests hold it",
    file: "plan/changes.ts",
    from: "when: ({ until }, { isHeld }, now) => !isHeld || until <= now,",
    to: "when: () => true,",
  },
  {
    what: "drops the old version before another answers",
    file: "plan/versions.ts",
    from: 'return answers ? ({ row: "V4", do: "drop", version } as const) : []',
    to: 'return { row: "V4", do: "drop", version } as const;',
  },
  {
    what: "keeps a version that nobody wants",
    file: "plan/versions.ts",
    from: 'if (!isServed) return { row: "V3", do: "drop", version } as const;',
    to: "if (!isServed) return [];",
  },
  {
    what: "moves a label before its version answers",
    file: "plan/versions.ts",
    from: "if (allowUnavailable || served.includes(version)) planned.set(label, version);",
    to: "planned.set(label, version);",
  },
  {
    what: "does not end a load of files that were replaced",
    file: "plan/changes.ts",
    from: "when: ({ isGivenUp }, facts) => facts.isNew && !isGivenUp && !mayLoadOn(facts),",
    to: "when: () => false,",
  },
  {
    what: "forgets a target that comes while it changes",
    file: "version-target.ts",
    from: 'if (this.#change.is === "none") this.#begun = this.#target;',
    to: "this.#begun = this.#target;",
  },
  {
    what: "never frees a copy that a request holds for ever",
    file: "plan/changes.ts",
    from: "when: ({ until }, { isHeld }, now) => !isHeld || until <= now,",
    to: "when: (_, { isHeld }) => !isHeld,",
  },
  {
    what: "does not look at the models that need one which should go",
    file: "plan/changes.ts",
    from: "when: (_, facts) => facts.isNew && facts.dependents.length > 0,",
    to: "when: () => false,",
  },
  {
    what: "does not load a model again once one that it needs takes something else",
    file: "plan/changes.ts",
    from: "when: (_, { wanted, isStale }) => wanted !== undefined && isStale,",
    to: "when: () => false,",
  },
  {
    what: "frees a copy, and forgets to say that it has ended",
    file: "plan/changes.ts",
    from: 'row("C11", ["freed"], { act',
    to: 'row("C11", ["freed"], { when: () => false, act',
  },
  {
    what: "tells no load that a model which it needs has changed",
    file: "model-manager.ts",
    from: "this.#policy.executor.turns.changed();",
    to: "",
  },
  {
    what: "does not say what a load waits for",
    file: "plan/loads.ts",
    from: "when: (needing, load) => isNews(needing, problemOf(needing, load)),",
    to: "when: () => false,",
  },
  {
    what: "says available before the first load ends",
    file: "managed-version.ts",
    from: 'if (this.#servable === undefined) this.#enter("LOADING", this.#failure);',
    to: 'if (this.#servable === undefined) this.#enter("AVAILABLE", this.#failure);',
  },
  {
    what: "does not notice that a model which should go is wanted again",
    file: "plan/changes.ts",
    from: 'row("C7", ["yielding", "outlasting"], { when: (_, { isNew }) => isNew,',
    to: 'row("C7", ["yielding", "outlasting"], { when: () => false,',
  },
  {
    what: "lets a model go before those that need it are replaced",
    file: "plan/changes.ts",
    from: "when: (_, { dependents }) => !dependents.some(isLeaving),",
    to: "when: () => true,",
  },
  {
    what: "keeps a model for ever that another one needed",
    file: "plan/changes.ts",
    from: "when: (_, { dependents }) => !dependents.some(isLeaving),",
    to: "when: () => false,",
  },
  {
    what: "loads a model again whose hooks alone have changed",
    file: "plan/changes.ts",
    from: 'return hasHooks && haveSameModel(wanted, served) ? "model" : "nothing";',
    to: 'return "nothing";',
  },
  {
    what: "refuses a load although copies that leave have its memory",
    file: "plan/memory.ts",
    from: 'if (lacking > 0 && missing <= 0) return { row: "R5", do: "wait" };',
    to: "",
  },
  {
    what: "leaves a request alone that has leased an unloaded copy which is replaced",
    file: "managed-version.ts",
    from: "this.#former?.giveWay(this.#servable);",
    to: "",
  },
  {
    what: "waits for the memory of a copy that keeps it",
    file: "model-memory.ts",
    from: "this.#leaving.delete(one);\n        this.changed();",
    to: "this.changed();",
  },
];
