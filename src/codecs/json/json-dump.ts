import { slowFloatText } from "./float-layout.ts";
import { isJsonList, JsonNumbers, type JsonValue } from "./json-value.ts";

/** As much of a value as an error message shows. */
const MAX_LENGTH = 256;
const INDENT = 4;

/**
 * A value as indented JSON text for an error message, cut at 256 characters; so
 * neither the size nor the depth of the value matters.
 */
export function dumpJson(value: JsonValue): string {
  const dump = new Dump();
  dump.add(value, 0);
  return dump.text.length > MAX_LENGTH ? `${dump.text.slice(0, MAX_LENGTH)}...` : dump.text;
}

/** Stops adding once the text is long enough; each level adds a character, so the call stack is bounded too. */
class Dump {
  text = "";

  add(value: JsonValue, level: number): void {
    if (this.text.length > MAX_LENGTH) return;
    if (value instanceof JsonNumbers) this.#addNumbers(value, level);
    else if (isJsonList(value)) this.#addList(value.length, level, (index) => this.add(value[index]!, level + 1));
    else if (typeof value === "object" && value !== null) this.#addObject(Object.entries(value), level);
    else if (typeof value === "string") this.text += JSON.stringify(value.slice(0, MAX_LENGTH + 1));
    else this.text += String(value);
  }

  #addNumbers(numbers: JsonNumbers, level: number): void {
    const length = numbers.shape[0];
    if (length !== undefined) this.#addList(length, level, (index) => this.#addNumbers(numbers.row(index), level + 1));
    else this.text += numberText(numbers);
  }

  #addList(length: number, level: number, addElement: (index: number) => void): void {
    this.text += "[";
    for (let index = 0; index < length && this.text.length <= MAX_LENGTH; index++) {
      this.#startLine(index, level + 1);
      addElement(index);
    }
    this.#endLines(length, level, "]");
  }

  #addObject(entries: readonly (readonly [string, JsonValue])[], level: number): void {
    this.text += "{";
    for (let index = 0; index < entries.length && this.text.length <= MAX_LENGTH; index++) {
      const [key, value] = entries[index]!;
      this.#startLine(index, level + 1);
      this.text += `${JSON.stringify(key.slice(0, MAX_LENGTH + 1))}: `;
      this.add(value, level + 1);
    }
    this.#endLines(entries.length, level, "}");
  }

  #startLine(index: number, level: number): void {
    this.text += `${index === 0 ? "" : ","}\n${" ".repeat(INDENT * level)}`;
  }

  #endLines(count: number, level: number, close: string): void {
    this.text += count === 0 ? close : `\n${" ".repeat(INDENT * level)}${close}`;
  }
}

function numberText(scalar: JsonNumbers): string {
  const value = scalar.at(0);
  return typeof value === "bigint" || scalar.isInteger(0) ? String(value) : slowFloatText(value, "float64");
}
