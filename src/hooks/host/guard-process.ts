import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { Readable, Writable } from "node:stream";
import { getHeapStatistics } from "node:v8";
import { MAX_LOG_TEXT, shorten } from "../../platform/text/shorten.ts";

/**
 * Removes this thread's access to what could end or confuse the whole process without native code: the standard
 * streams, which own a port of Node's to the main thread, and closing foreign file descriptors. To be called before
 * user code is imported.
 */
export function guardProcess(): void {
  const { stdout, stderr } = process;
  replaceStream("stdout", forwardTo(stdout));
  replaceStream("stderr", forwardTo(stderr));
  replaceStream("stdin", Readable.from([]));
  guardDescriptors();
}

function replaceStream(name: "stdin" | "stdout" | "stderr", stream: Readable | Writable): void {
  Object.defineProperty(process, name, { value: stream, configurable: true, enumerable: true });
}

/** Characters that wait for the main thread to read them; text written meanwhile is left out. */
const MAX_WAITING = 1024 * 1024;

/**
 * Writes to `stream` without exposing its port, and no longer texts than a log has; keeps the methods by which Node
 * notifies `process.stdout` that the main thread has read.
 */
function forwardTo(stream: Writable): Writable {
  const forwarding = new ShortWritable({
    decodeStrings: false,
    write: (chunk, encoding, done) => void stream.write(chunk, encoding, done),
  });
  const own: object = Object.getPrototypeOf(stream);
  for (const name of Object.getOwnPropertySymbols(own)) {
    const method: unknown = Reflect.get(own, name);
    if (typeof method === "function") Object.defineProperty(forwarding, name, { value: method.bind(stream) });
  }
  return forwarding;
}

type Written = (reason?: Error | null) => void;

/** A stream that cuts long texts at once, and takes nothing while too much waits. */
class ShortWritable extends Writable {
  override write(chunk: unknown, ...rest: (BufferEncoding | Written | undefined)[]): boolean {
    const [encoding, done] =
      typeof rest[0] === "function" ? [undefined, rest[0]] : (rest as [BufferEncoding?, Written?]);
    const isFull = this.writableLength > MAX_WAITING;
    return super.write(isFull ? "" : cutChunk(chunk), encoding ?? "utf8", done);
  }
}

function cutChunk(chunk: unknown): unknown {
  if (typeof chunk === "string")
    return chunk.length > MAX_LOG_TEXT * 4 ? `${shorten(chunk, MAX_LOG_TEXT * 4)}\n` : chunk;
  if (!ArrayBuffer.isView(chunk) || chunk.byteLength <= MAX_LOG_TEXT * 4) return chunk;
  return Buffer.from(chunk.buffer, chunk.byteOffset, MAX_LOG_TEXT * 4);
}

/**
 * The main thread shares its file descriptors: after a close here, the next file or
 * connection would get the same number.
 */
function guardDescriptors(): void {
  const { open, openSync, close, closeSync } = fs;
  const own = new Set<number>();
  const guarded = {
    open: (...args: unknown[]) => {
      const done = args.at(-1);
      if (typeof done !== "function") return Reflect.apply(open, fs, args);
      const keep = (reason: unknown, descriptor: number) => {
        if (reason === null) own.add(descriptor);
        done(reason, descriptor);
      };
      return Reflect.apply(open, fs, [...args.slice(0, -1), keep]);
    },
    openSync: (...args: unknown[]) => {
      const descriptor: number = Reflect.apply(openSync, fs, args);
      own.add(descriptor);
      return descriptor;
    },
    close: (descriptor: number, done?: (reason: Error | null) => void) => {
      const isOwn = own.delete(descriptor);
      if (isOwn || !Number.isInteger(descriptor))
        return Reflect.apply(close, fs, done ? [descriptor, done] : [descriptor]);
      process.nextTick(() => done?.(notOwn(descriptor)));
    },
    closeSync: (descriptor: number) => {
      if (!own.delete(descriptor) && Number.isInteger(descriptor)) throw notOwn(descriptor);
      closeSync(descriptor);
    },
  };
  Object.assign(fs, guarded);
  syncBuiltinESMExports();
}

function notOwn(fd: number): Error {
  const message = `EBADF: file descriptor ${fd} was not opened by these hooks; expected one that fs.open gave`;
  return Object.assign(new Error(message), { code: "EBADF", syscall: "close", errno: -9 });
}

/** Time between two checks of it, in milliseconds. */
const INTERVAL_MS = 100;

/**
 * Calls back, once, when this thread's memory outside its JavaScript heap, such as buffers, exceeds `limitMb`
 * megabytes; V8 has no limit for it.
 * While the thread's event loop hangs, the check does not run.
 */
export function watchExternalMemory(limitMb: number, onExceeded: () => void): void {
  const timer = setInterval(() => {
    if (getHeapStatistics().external_memory <= limitMb * 2 ** 20) return;
    clearInterval(timer);
    onExceeded();
  }, INTERVAL_MS).unref();
}

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
