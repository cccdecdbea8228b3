/**
 * Work on one large message for a codec thread: a pure function of values that can
 * cross threads (see {@link toJobMessage}).
 */
export interface Job<Args extends readonly unknown[], Result> {
  /** The built module that exports the job, relative to the program's files: `proxy/tensorflow-request`. */
  readonly module: string;
  /** The name under which it exports the job. */
  readonly name: string;
  /** The function itself, for messages that are worked on where they are. */
  readonly run: (...args: Args) => Result | Promise<Result>;
}

/** `src/` or `dist/`, whichever this file runs from. */
const ROOT = new URL("../../", import.meta.url).href;

/**
 * Makes a job of a function; the module at `url` (its `import.meta.url`) exports the
 * job under `name`, where threads find it.
 */
export function defineJob<Args extends readonly unknown[], Result>(
  url: string,
  name: string,
  run: Job<Args, Result>["run"],
): Job<Args, Result> {
  return { module: url.slice(ROOT.length).replace(/\.[jt]s$/, ""), name, run };
}
