/** Lets `console.log` in a hook show a record like any object. */
const show = { [Symbol.for("nodejs.util.inspect.custom")]: { value: plain } };

function plain(this: object): object {
  return { ...this };
}

/** The prototype of records: without names, so that what is found in a record was put there. */
const NOTHING: object = Object.freeze(Object.create(null, show));

/** V8 makes a hash table of `Object.create(null)`, which is ten times as slow as an instance of this. */
function Names() {}
Names.prototype = NOTHING;

/** Creates an empty object for values by names that clients choose: `__proto__` and `constructor` are data. */
export function createRecord<Value>(): Record<string, Value> {
  return new (Names as unknown as new () => Record<string, Value>)();
}

/** Checks that an object inherits no names. */
export function isRecord(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || prototype === NOTHING;
}

/**
 * Checks that a value is an object, and not an instance of a class: its prototype is an Object.prototype, of this realm
 * or another, or none.
 */
export function isPlainObject(value: unknown): value is { readonly [key: string]: unknown } {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Checks that a value is an object, and no array. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
