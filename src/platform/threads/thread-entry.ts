/** The built file of a thread's entry, such as `models/threads/model-thread-entry`: threads load no TypeScript. */
export function threadEntry(name: string): URL {
  return new URL(`../../../dist/${name}.js`, import.meta.url);
}
