import { type Place, placeText } from "../../codecs/config/config-node.ts";
import { invalidArgument } from "../../errors.ts";

/** Maximum number of problems in one message. */
const MAX_NAMED = 10;
/** Number of errors after which nothing more is read, and of warnings that are kept. */
const MAX_FOUND = 100;

/** Errors in configuration files and settings that have no effect, each with its place. */
export class Findings {
  readonly #errors: string[] = [];
  readonly #warnings: string[] = [];

  /** Throws as {@link assertNone} does after the hundredth error: a client's text may have one for every two bytes. */
  error(place: Place, problem: string): void {
    this.#errors.push(`${placeText(place)}: ${problem}`);
    if (this.#errors.length >= MAX_FOUND) this.assertNone();
  }

  /** A warning is kept unless there are a hundred already. */
  warn(place: Place, problem: string): void {
    if (this.takesWarnings) this.#warnings.push(`${placeText(place)}: ${problem}`);
  }

  /** True while warnings are kept. */
  get takesWarnings(): boolean {
    return this.#warnings.length < MAX_FOUND;
  }

  get warnings(): readonly string[] {
    return this.#warnings;
  }

  /** Throws `invalid_argument` with all errors, where there are any. */
  assertNone(): void {
    if (this.#errors.length === 0) return;
    const named = this.#errors.slice(0, MAX_NAMED);
    const more = this.#errors.length - named.length;
    const rest = more === 0 ? [] : [`And ${this.#errors.length < MAX_FOUND ? "" : "at least "}${more} more.`];
    throw invalidArgument([...named, ...rest].join("\n"));
  }
}
