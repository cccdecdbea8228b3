import { basename } from "node:path";
import type { LibraryHandle, TypeObject } from "koffi";
import koffi from "koffi";
import { failedPrecondition, reasonText } from "../../errors.ts";

const MIB = 2 ** 20;

try {
  // Functions run on koffi's own stacks, which do not grow; without this those of calls in the pool have 128 KiB. Pages
  // that are not touched take no memory.
  koffi.config({ sync_stack_size: 16 * MIB, async_stack_size: 4 * MIB });
} catch {
  // A user's driver in this thread has loaded a library by koffi before: its stacks stay.
}

/** koffi with stacks on which a runtime can compute. */
export { koffi };

/** A C object's address. */
export type Pointer = bigint;

/**
 * An argument for a `void *`: an address, or the memory of an array, which stays where it is until the call returns.
 */
type PointerArgument = Pointer | ArrayBufferView | null;

/** C types by koffi's names, and what carries them in JavaScript; `str` is UTF-8 text ending in zero, copied. */
interface ArgumentTypes {
  readonly int: number;
  readonly int64_t: number | bigint;
  readonly size_t: number | bigint;
  readonly str: string | null;
  readonly "void *": PointerArgument;
  readonly "const char **": readonly string[];
}

interface ResultTypes {
  readonly void: undefined;
  readonly int: number;
  readonly int64_t: number | bigint;
  readonly size_t: number | bigint;
  readonly str: string | null;
  readonly "void *": Pointer | null;
}

/** A C struct that is passed by value, and the object for it. */
type StructType<Value> = TypeObject & { readonly value?: Value };
/** Fixed parameters; a final `...` means any number of further arguments, each as its C type's name and its value. */
type ParameterType = keyof ArgumentTypes | StructType<unknown> | "...";

/** Functions of a C library by name: the result's type, then the parameters'. */
export type SignatureTable = Readonly<
  Record<string, readonly [result: keyof ResultTypes, ...parameters: ParameterType[]]>
>;

type Result<S> = S extends readonly [infer R extends keyof ResultTypes, ...unknown[]] ? ResultTypes[R] : never;
type Argument<P> = P extends keyof ArgumentTypes ? ArgumentTypes[P] : P extends StructType<infer Value> ? Value : never;
type Arguments<S> = S extends readonly [unknown, ...infer P extends readonly ParameterType[], "..."]
  ? [...FixedArguments<P>, ...unknown[]]
  : S extends readonly [unknown, ...infer P extends readonly ParameterType[]]
    ? FixedArguments<P>
    : never;
type FixedArguments<P extends readonly ParameterType[]> = { -readonly [K in keyof P]: Argument<P[K]> };

/** A C function: called, it blocks; with {@link runAsync} it runs in a thread of the pool. */
type NativeFunction<Args extends readonly unknown[], Returned> = ((...args: Args) => Returned) & {
  readonly async: (...args: [...Args, (error: unknown, result: Returned) => void]) => void;
};

/** The functions of a {@link SignatureTable}. */
export type NativeFunctions<Table extends SignatureTable> = {
  readonly [Name in keyof Table]: NativeFunction<Arguments<Table[Name]>, Result<Table[Name]>>;
};

/** A struct by its members' C types, in their order. */
export function defineStruct<Value>(members: Readonly<Record<keyof Value & string, string>>): StructType<Value> {
  return koffi.struct(members) as StructType<Value>;
}

/** A parameter that points to the first of several structs, given as an array of objects. */
export function pointerTo<Value>(struct: StructType<Value>): StructType<readonly Value[]> {
  return koffi.pointer(struct) as StructType<readonly Value[]>;
}

/** Finds all functions of a table in a library; throws `failed_precondition` naming those that it lacks. */
export function bindFunctions<const Table extends SignatureTable>(
  library: LibraryHandle,
  table: Table,
  title: string,
): NativeFunctions<Table> {
  const functions: Record<string, unknown> = {};
  const missing: string[] = [];
  let cause: unknown;
  for (const [name, [result, ...parameters]] of Object.entries<SignatureTable[string]>(table)) {
    try {
      functions[name] = library.func(name, result, parameters);
    } catch (reason) {
      missing.push(name);
      cause = reason;
    }
  }
  if (missing.length === 0) return functions as NativeFunctions<Table>;
  const names = missing.slice(0, 5).join(", ") + (missing.length > 5 ? ` and ${missing.length - 5} more` : "");
  throw failedPrecondition(
    `${title} lacks functions that are needed: ${names}. Expected another version or build of it.`,
    reasonText(cause),
  );
}

/** Runs a C function in a thread of libuv's pool; arrays among the arguments stay where they are until it returns. */
export function runAsync<Args extends readonly unknown[], Returned>(
  { async: start }: NativeFunction<Args, Returned>,
  ...args: Args
): Promise<Returned> {
  return new Promise((resolve, reject) => {
    start(...args, (error, result) => (error == null ? resolve(result) : reject(error)));
  });
}

let library: LibraryHandle | undefined;

/** The C library that this process runs with. */
export function processLibrary(): LibraryHandle {
  library ??= koffi.load(process.platform === "win32" ? "ucrtbase.dll" : null);
  return library;
}

/** dlopen's flags: bind symbols lazily, only if it is loaded already, never unload. */
const PINNING_FLAGS: Partial<Record<NodeJS.Platform, number>> = {
  linux: 0x1 | 0x4 | 0x1000,
  darwin: 0x1 | 0x10 | 0x80,
};

/**
 * Opens a library for the rest of the process: koffi would unload it with the thread, under the feet of the threads
 * that it has started itself. Throws `failed_precondition` with the system's reason.
 */
export function openLibrary(path: string): LibraryHandle {
  const library = load(path);
  const flags = PINNING_FLAGS[process.platform];
  if (flags !== undefined) processLibrary().func("dlopen", "void *", ["str", "int"])(path, flags);
  return library;
}

function load(path: string): LibraryHandle {
  try {
    return koffi.load(path);
  } catch (cause) {
    const reason = reasonText(cause).replace("Failed to load shared library: ", "").replaceAll(path, basename(path));
    const message = `The library "${path}" cannot be loaded on ${process.platform} ${process.arch}: ${reason}.`;
    throw failedPrecondition(message, cause);
  }
}

/** Frees forgotten objects with the garbage; those freed in time never get here. */
const forgotten = new FinalizationRegistry<() => void>((free) => free());

/** An object of a C library that is freed once: by {@link release}, or when nothing refers to this any more. */
export class NativeObject {
  readonly pointer: Pointer;
  #free: (() => void) | undefined;

  /** Takes ownership of a C function's result. */
  constructor(pointer: Pointer, free: (pointer: Pointer) => unknown) {
    this.pointer = pointer;
    this.#free = () => void free(pointer);
    forgotten.register(this, this.#free, this);
  }

  /** Frees the object; of no effect the second time. */
  release(): void {
    forgotten.unregister(this);
    this.#free?.();
    this.#free = undefined;
  }
}
