import type { OptionTable } from "../option-table.ts";
import { PYTHON_HOST_OPTIONS, type PythonHostOptions } from "./host-options.ts";

/** The `-o` keys of drivers whose models may be pickles. */
export interface PickleOptions extends PythonHostOptions {
  readonly allow_pickle: boolean;
}

/** Pickles only where the user says so, and what the host of Python models takes. */
export const PICKLE_OPTIONS: OptionTable<PickleOptions> = {
  allow_pickle: {
    type: "boolean",
    default: false,
    help: "Loads pickles and joblib files, which run whatever code is in them; for files that you trust.",
  },
  ...PYTHON_HOST_OPTIONS,
};
