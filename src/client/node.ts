import { type Connect, createConnect } from "./create-connect.ts";
import { LazyGrpc } from "./grpc/lazy-grpc.ts";

export * from "./client.ts";

/** Connects to a server of KServe V2 at `http://…`, `https://…`, `grpc://…` or, encrypted, `grpcs://…`. */
export const connect: Connect = createConnect((address, options) => new LazyGrpc(address, options), settling);

/** Fail the requests that have no answer yet. */
const unanswered = new Set<() => void>();

/**
 * The same `fetch`, but it rejects when the process has nothing left to wait for. Node 20's may never settle
 * if a server of TLS 1.3 refuses the client after the handshake; the process would end silently, with 13.
 */
function settling(fetchOnce: typeof fetch): typeof fetch {
  return (...call) =>
    new Promise((resolve, reject) => {
      const fail = () => reject(new TypeError("fetch failed", { cause: new Error("other side closed") }));
      if (unanswered.size === 0) process.on("beforeExit", failUnanswered);
      unanswered.add(fail);
      const settled = fetchOnce(...call).finally(() => {
        unanswered.delete(fail);
        if (unanswered.size === 0) process.off("beforeExit", failUnanswered);
      });
      settled.then(resolve, reject);
    });
}

function failUnanswered(): void {
  for (const fail of unanswered) fail();
}
