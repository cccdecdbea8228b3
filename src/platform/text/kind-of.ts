/** Names a value's kind, for messages: `a string`, `an empty string`, `an array`, `an object`, `undefined`. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (value === "") return "an empty string";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
