import { invalidArgument } from "../../../errors.ts";
import { type ConfigMap, type ConfigNode, type Place, placeText } from "../../../tensor/codecs/config/config-node.ts";

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

  /** Throws `invalid_argument` with all errors, if there are any. */
  assertNone(): void {
    if (this.#errors.length === 0) return;
    const named = this.#errors.slice(0, MAX_NAMED);
    const more = this.#errors.length - named.length;
    const rest = more === 0 ? [] : [`And ${this.#errors.length < MAX_FOUND ? "" : "at least "}${more} more.`];
    throw invalidArgument([...named, ...rest].join("\n"));
  }
}

/** A key whose value is refused. */
interface RefusedValue {
  readonly key: string;
  readonly node: ConfigNode;
  readonly findings: Findings;
}

/** Adds an error to the findings; returns undefined, for the value. */
export function refuseValue({ key, node, findings }: RefusedValue, expected: string, hint = ""): undefined {
  findings.error(node.place, `"${key}" is ${describeNode(node)}; expected ${expected}.${hint}`);
}

const MAX_GROUP_TEXT = 60;

/** A short description of a value, for messages. */
export function describeNode(node: ConfigNode): string {
  if (node.kind === "list") return "a list";
  if (node.kind === "map") return groupText(node);
  if (node.value === null) return "empty";
  return node.isWord ? `${node.text}, without quotes` : JSON.stringify(node.text);
}

/** A group as JSON if that is short. */
function groupText(node: ConfigMap): string {
  const text = jsonOf(node);
  return text.length <= MAX_GROUP_TEXT ? text : "a group of keys";
}

/** A nested value as JSON text, as an `-o` option takes it. */
export function jsonOf(node: ConfigNode): string {
  if (node.kind === "list") return `[${node.items.map(jsonOf).join(",")}]`;
  if (node.kind === "map")
    return `{${node.entries.map(({ key, value }) => `${JSON.stringify(key)}:${jsonOf(value)}`).join(",")}}`;
  return typeof node.value === "bigint" ? String(node.value) : JSON.stringify(node.value);
}
