import koffi from "koffi";

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
