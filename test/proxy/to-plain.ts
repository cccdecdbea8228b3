import { isJsonList, isJsonObject, JsonNumbers, type JsonValue } from "../../src/tensor/codecs/json/json-value.ts";

/** The value as JSON.parse would have given it. */
export function toPlain(value: JsonValue): unknown {
  if (value instanceof JsonNumbers) return numbersToPlain(value);
  if (isJsonList(value)) return value.map(toPlain);
  if (!isJsonObject(value)) return value;
  const plain = {};
  for (const [key, member] of Object.entries(value)) {
    Object.defineProperty(plain, key, { value: toPlain(member), enumerable: true, configurable: true, writable: true });
  }
  return plain;
}

function numbersToPlain(numbers: JsonNumbers): unknown {
  const [length] = numbers.shape;
  if (length === undefined) return numbers.store.values[numbers.start];
  return Array.from({ length }, (_, index) => numbersToPlain(numbers.row(index)));
}
