/** Hooks that return what comes, in a thread that collects its garbage when instrument.mjs says so. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { BroadcastChannel } from "node:worker_threads";

export { postprocess, preprocess } from "./identity-hooks.ts";

export function init_hook() {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  const channel = new BroadcastChannel("bench-collect-garbage");
  channel.onmessage = () => collect();
  channel.unref();
  return channel;
}
