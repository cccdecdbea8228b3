import { invalidArgument, type ServingError } from "../../../errors.ts";

/** A place in a configuration file; lines and columns count from 1. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** One value of a configuration file of any format, and its place. */
export type ConfigNode = ConfigMap | ConfigList | ConfigScalar;

/** Named values in the order of the file. Protobuf's text format repeats a name for each value of a list. */
export interface ConfigMap {
  readonly kind: "map";
  readonly place: Place;
  readonly entries: readonly ConfigEntry[];
}

/** A name, where it stands, and its value. */
export interface ConfigEntry {
  readonly key: string;
  readonly place: Place;
  readonly value: ConfigNode;
}

/** Values in order. */
interface ConfigList {
  readonly kind: "list";
  readonly place: Place;
  readonly items: readonly ConfigNode[];
}

/** A single value. */
export interface ConfigScalar {
  readonly kind: "scalar";
  readonly place: Place;
  readonly value: string | number | bigint | boolean | null;
  /** The unquoted source text: `1.0` and `007` are kept. */
  readonly text: string;
  /** True for an unquoted word of protobuf's text format, such as the name of an enum's value. */
  readonly isWord?: true;
}

/** Nesting that no configuration needs; protobuf's parsers stop here too. */
export const MAX_CONFIG_DEPTH = 100;

/** Values that a file may have. */
export const MAX_CONFIG_NODES = 100_000;

/** `FILE:LINE:COLUMN`. */
export function placeText({ file, line, column }: Place): string {
  return `${file}:${line}:${column}`;
}

/** An `invalid_argument` whose message begins with the place. */
export function configError(place: Place, problem: string): ServingError {
  return invalidArgument(`${placeText(place)}: ${problem}`);
}

/** Finds places in a text in their order, and so takes a time in proportion to the text for all of them. */
export class TextPlaces {
  readonly #text: string;
  readonly #file: string;
  /** The line of the last place. */
  #line = 1;
  #lineStart = 0;
  #lineEnd: number;

  constructor(text: string, file: string) {
    this.#text = text;
    this.#file = file;
    this.#lineEnd = this.#endOfLine();
  }

  /** The place of a character, which is not before the last one that was asked for. */
  at(index: number): Place {
    while (this.#lineEnd < index) {
      this.#line++;
      this.#lineStart = this.#lineEnd + 1;
      this.#lineEnd = this.#endOfLine();
    }
    return { file: this.#file, line: this.#line, column: index - this.#lineStart + 1 };
  }

  #endOfLine(): number {
    const end = this.#text.indexOf("\n", this.#lineStart);
    return end < 0 ? Number.POSITIVE_INFINITY : end;
  }
}
