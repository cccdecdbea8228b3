import { failedPrecondition, ServingError } from "../../errors.ts";
import { frameworkPythons } from "../../storage/runtimes/python.ts";

/** A search for an interpreter. */
export interface PythonSearch<Started> {
  /** Begins the message if nothing is found: `The sklearn driver finds`. */
  readonly who: string;
  /** Module that the interpreter has to have. */
  readonly title: string;
  readonly howToInstall: string;
  /** The only interpreter to try; undefined = those of this machine. */
  readonly python: string | undefined;
  /** Rejects with one of {@link UNUSABLE} for an interpreter that cannot be used. */
  readonly start: (python: string) => Promise<Started>;
}

/** The interpreter did not start, lacks numpy, or lacks the module. */
const UNUSABLE: ReadonlySet<string> = new Set(["unavailable", "unimplemented"]);

/** Starts the first interpreter that can be used. Throws `failed_precondition` if none has. */
export async function startWithFirst<Started>(search: PythonSearch<Started>): Promise<Started> {
  const commands = search.python === undefined ? frameworkPythons() : [search.python];
  const lacking = new Set<string>();
  for (const command of commands) {
    try {
      return await search.start(command);
    } catch (reason) {
      const isUnusable = reason instanceof ServingError && UNUSABLE.has(reason.code);
      if (!isUnusable) throw reason;
      lacking.add(reason.code === "unavailable" ? `${command}: ${reason.message}` : reason.message);
    }
  }
  throw failedPrecondition(
    `${search.who} no Python with ${search.title}: ${[...lacking].join("; ")}. ${search.howToInstall} Or name an interpreter that has it: -o python=PATH.`,
  );
}
