import workerThreads from "node:worker_threads";

/**
 * The built-ins that a hook thread's messages need, saved when the thread starts: user code that is imported later, and
 * its packages, may replace those of the global objects.
 */
export const { parse: parseJson, stringify: toJson } = JSON;
export const { add: atomicAdd, load: atomicLoad, store: atomicStore } = Atomics;
export const { setImmediate: runSoon } = globalThis;
/** Checks that a buffer cannot be transferred, as those of native modules from Node 21 on; before, they are copied. */
export const isUntransferable: (buffer: ArrayBufferLike) => boolean =
  "isMarkedAsUntransferable" in workerThreads
    ? (workerThreads.isMarkedAsUntransferable as (buffer: ArrayBufferLike) => boolean)
    : () => false;

const { bind, call } = Function.prototype;
/** A method as a function that takes its object first. */
const uncurryThis = bind.bind(call) as <This, Args extends readonly unknown[], Result>(
  method: (this: This, ...args: Args) => Result,
) => (self: This, ...args: Args) => Result;

const typedArray = Object.getPrototypeOf(Uint8Array.prototype) as Uint8Array<ArrayBuffer>;
type View = Uint8Array<ArrayBufferLike>;

export const copyBuffer = uncurryThis(ArrayBuffer.prototype.slice);
export const copyView = uncurryThis(typedArray.slice) as (view: View) => Uint8Array<ArrayBuffer>;
export const subView = uncurryThis(typedArray.subarray) as <V extends View>(view: V, from: number, to?: number) => V;
export const setView = uncurryThis(typedArray.set) as (target: View, source: View, at?: number) => void;

/** Copies the methods into a subclass, so that they stay when those of its parent are replaced. */
function withOwnMethods<Class extends { readonly prototype: object }>(subclass: Class): Class {
  const parent: object = Object.getPrototypeOf(subclass.prototype);
  const { constructor: _, ...methods } = Object.getOwnPropertyDescriptors(parent) as Record<string, PropertyDescriptor>;
  Object.defineProperties(subclass.prototype, methods);
  return subclass;
}

/** A Map with its own methods. */
export const OwnMap = withOwnMethods(class OwnMap<Key, Value> extends Map<Key, Value> {});
/** A WeakSet with its own methods. */
export const OwnWeakSet = withOwnMethods(class OwnWeakSet<Value extends object> extends WeakSet<Value> {});
