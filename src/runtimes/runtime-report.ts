/** One place where a runtime was found. */
export interface FoundRuntime {
  /** The kind of place, as people would name it. */
  readonly source: string;
  /** The library, the interpreter, or the folder of an npm package. */
  readonly path?: string;
  /** Absent where it does not load. */
  readonly version?: string;
  readonly devices?: readonly string[];
  /** The reason why it cannot be used, or not on all of its devices. */
  readonly problem?: string;
  /** True for the one that a driver would take. */
  readonly isUsed: boolean;
}

/** Facts about one runtime. */
export interface RuntimeReport {
  readonly name: string;
  readonly title: string;
  /** Every place where it is, in the order of the search. */
  readonly found: readonly FoundRuntime[];
  /** The command to run where none was found that loads. */
  readonly install?: string;
}
