const { getOwnPropertyDescriptor, is: isSame } = Object;
const { ownKeys } = Reflect;

/** The objects whose functions the thread's own code constantly uses. */
const OWNERS: readonly (readonly [name: string, owner: object])[] = [
  ["Object.prototype", Object.prototype],
  ["Array.prototype", Array.prototype],
  ["Function.prototype", Function.prototype],
  ["String.prototype", String.prototype],
  ["Number.prototype", Number.prototype],
  ["Map.prototype", Map.prototype],
  ["Set.prototype", Set.prototype],
  ["WeakMap.prototype", WeakMap.prototype],
  ["Promise.prototype", Promise.prototype],
  ["ArrayBuffer.prototype", ArrayBuffer.prototype],
  ["TypedArray.prototype", Object.getPrototypeOf(Uint8Array.prototype)],
  ["Uint8Array.prototype", Uint8Array.prototype],
  ["Buffer.prototype", Buffer.prototype],
  ["Object", Object],
  ["Array", Array],
  ["Number", Number],
  ["Math", Math],
  ["JSON", JSON],
  ["Reflect", Reflect],
  ["Promise", Promise],
  ["Buffer", Buffer],
];

interface BuiltIn {
  readonly name: string;
  readonly owner: object;
  readonly key: PropertyKey;
  readonly value: unknown;
}

const BUILT_INS: readonly BuiltIn[] = OWNERS.flatMap(([name, owner]) =>
  ownKeys(owner).map((key) => ({ name, owner, key, value: getOwnPropertyDescriptor(owner, key)?.value })),
);
const OBJECT_KEYS = ownKeys(Object.prototype).length;

/**
 * Name of a built-in function that was replaced since this module was imported, such as `Array.prototype.map`;
 * undefined = none was.
 */
export function replacedBuiltIn(): string | undefined {
  if (ownKeys(Object.prototype).length !== OBJECT_KEYS) return "Object.prototype";
  // By index: lists may no longer be iterable.
  for (let index = 0; index < BUILT_INS.length; index++) {
    const { name, owner, key, value } = BUILT_INS[index]!;
    if (isSame(getOwnPropertyDescriptor(owner, key)?.value, value)) continue;
    return typeof key === "string" ? `${name}.${key}` : name;
  }
  return undefined;
}
