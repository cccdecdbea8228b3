import { MessageChannel } from "node:worker_threads";

/**
 * Frees the memory of an unused buffer in the next turn of the event loop: V8 would keep it until its next collection
 * of the whole heap.
 */
export function freeBuffer(memory: ArrayBufferLike): void {
  if (!(memory instanceof ArrayBuffer)) return;
  const { port1, port2 } = new MessageChannel();
  port2.close();
  // The message is never received.
  port1.postMessage(undefined, [memory]);
  port1.close();
}
