/** One thing that `kserving doctor` has looked at. */
export interface Finding {
  readonly check: string;
  /** `problem`: kserving, or what was asked for, cannot work. `warning`: it works, but worse than it could. */
  readonly state: "ok" | "warning" | "problem";
  readonly text: string;
  /** The command or the step that mends it. */
  readonly fix?: string;
}
