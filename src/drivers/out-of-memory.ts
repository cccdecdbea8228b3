/** Texts of runtimes for a lack of memory: C++, ONNX Runtime's arena, PyTorch's allocators, Python, OpenCL. */
const MEMORY =
  /bad[_ ]alloc|out of memory|failed to allocate|available memory of \d+ is smaller|can(?:not|'t) allocate|MemoryError|CL_OUT_OF/i;

/** Checks if a runtime's message is about a failed allocation, which becomes `resource_exhausted`. */
export function tellsOfMemory(message: string): boolean {
  return MEMORY.test(message);
}
