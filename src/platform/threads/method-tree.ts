/** Marker of a handle's function on the side that cannot call it directly. */
interface MethodMarker {
  readonly $method: string;
}

/**
 * A handle's functions by their path, such as `session.run`, and its other members as plain data with markers for the
 * functions.
 */
export interface MethodTree {
  readonly data: unknown;
  readonly methods: ReadonlyMap<string, (...args: unknown[]) => unknown>;
}

/** Replaces the functions in plain data by markers. */
export function toMethodTree(value: unknown): MethodTree {
  const methods = new Map<string, (...args: unknown[]) => unknown>();
  const walk = (each: unknown, path: string): unknown => {
    if (typeof each === "function") {
      methods.set(path, each as () => unknown);
      return { $method: path } satisfies MethodMarker;
    }
    if (Array.isArray(each)) return each.map((member, index) => walk(member, `${path}.${index}`));
    if (typeof each !== "object" || each === null || ArrayBuffer.isView(each)) return each;
    const members = Object.entries(each).map(([name, member]) => [
      name,
      walk(member, path === "" ? name : `${path}.${name}`),
    ]);
    return Object.fromEntries(members);
  };
  return { data: walk(value, ""), methods };
}

/** Replaces each marker in plain data by an asynchronous function. */
export function fromMethodTree(
  data: unknown,
  call: (path: string, args: readonly unknown[]) => Promise<unknown>,
): unknown {
  const walk = (each: unknown): unknown => {
    if (Array.isArray(each)) return each.map(walk);
    if (typeof each !== "object" || each === null || ArrayBuffer.isView(each)) return each;
    const { $method } = each as Partial<MethodMarker>;
    if ($method !== undefined) return (...args: unknown[]) => call($method, args);
    return Object.fromEntries(Object.entries(each).map(([name, member]) => [name, walk(member)]));
  };
  return walk(data);
}
