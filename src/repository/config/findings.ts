import { type Place, placeText } from "../../codecs/config/config-node.ts";
import { invalidArgument } from "../../errors.ts";

/** Maximum number of problems in one message. */
const MAX_NAMED = 10;

/** Errors in configuration files and settings that have no effect, each with its place. */
export class Findings {
  readonly #errors: string[] = [];
  readonly #warnings: string[] = [];

  error(place: Place, problem: string): void {
    this.#errors.push(`${placeText(place)}: ${problem}`);
  }

  warn(place: Place, problem: string): void {
    this.#warnings.push(`${placeText(place)}: ${problem}`);
  }

  get warnings(): readonly string[] {
    return this.#warnings;
  }

  /** Throws `invalid_argument` with all errors, where there are any. */
  assertNone(): void {
    if (this.#errors.length === 0) return;
    const named = this.#errors.slice(0, MAX_NAMED);
    const more = this.#errors.length - named.length;
    const rest = more === 0 ? [] : [`And ${more} more.`];
    throw invalidArgument([...named, ...rest].join("\n"));
  }
}
