import { vi } from "vitest";
import type { CancelSource } from "../../src/platform/async/cancel-source.ts";

/** The listeners that a signal has from now on. */
export function countListeners(signal: CancelSource): ReadonlySet<() => void> {
  const listeners = new Set<() => void>();
  const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
  vi.spyOn(signal, "addEventListener").mockImplementation((event, listener) => {
    listeners.add(listener);
    add(event, listener);
  });
  vi.spyOn(signal, "removeEventListener").mockImplementation((event, listener) => {
    listeners.delete(listener);
    remove(event, listener);
  });
  return listeners;
}
