/** Mark of a function of a handle on the side that cannot call it directly. */
interface MethodMarker {
  readonly $method: string;
}

/** A handle's functions by their path, such as `session.run`, and the rest of it as plain data with markers in their places. */
export interface MethodTree {
  readonly data: unknown;
  readonly methods: ReadonlyMap<string, (...args: unknown[]) => unknown>;
}

/** Takes the functions out of plain data. */
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

/** Plain data with an asynchronous function in the place of each marker. */
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
