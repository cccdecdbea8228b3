/** Words of runtimes for a lack of memory: C++, ONNX Runtime's arena, PyTorch's allocators, Python, OpenCL. */
const MEMORY = /bad[_ ]alloc|out of memory|failed to allocate|can(?:not|'t) allocate|MemoryError|CL_OUT_OF/i;

/** Checks if a runtime's message tells of an allocation that failed, which clients receive as `resource_exhausted`. */
export function tellsOfMemory(message: string): boolean {
  return MEMORY.test(message);
}
