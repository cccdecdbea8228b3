import type { Pointer } from "./bind-functions.ts";

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
