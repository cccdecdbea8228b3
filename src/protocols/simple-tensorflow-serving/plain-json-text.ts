/**
 * A text as a JSON string of letters, digits, spaces, points, hyphens and underscores; every other character is
 * `\uXXXX`. So JSON of such texts holds no character but these and `{}[]":,\`, and can stand in a program of any
 * language where none of them has a meaning, whatever names clients and files have chosen.
 */
export function plainJsonText(text: string): string {
  const escaped = text.replace(/[^A-Za-z0-9 ._-]/g, (unit) =>
    Array.from({ length: unit.length }, (_, at) => `\\u${unit.charCodeAt(at).toString(16).padStart(4, "0")}`).join(""),
  );
  return `"${escaped}"`;
}
