import { MessageChannel } from "node:worker_threads";

/**
 * Gives back the memory of a buffer that is no longer used, in the next turn of the event loop: V8 would keep it until it
 * next looks through the whole heap, and others would take the room meanwhile.
 */
export function freeBuffer(memory: ArrayBufferLike): void {
  if (!(memory instanceof ArrayBuffer)) return;
  const { port1, port2 } = new MessageChannel();
  port2.close();
  // It is never received.
  port1.postMessage(undefined, [memory]);
  port1.close();
}
