/** Hooks that return what comes; their thread collects garbage and tells its objects' bytes, as instrument.mjs asks. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { BroadcastChannel } from "node:worker_threads";

export { postprocess, preprocess } from "./identity-hooks.ts";

export function init_hook() {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  const channel = new BroadcastChannel("bench-collect-garbage");
  channel.onmessage = (message: unknown) => {
    const { ask } = (message as MessageEvent).data as { readonly ask?: number };
    if (ask === undefined) return;
    collect();
    collect();
    const { heapUsed, external } = process.memoryUsage();
    channel.postMessage({ of: ask, bytes: heapUsed + external });
  };
  channel.unref();
  return channel;
}
