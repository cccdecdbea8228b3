import { once } from "node:events";
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { LazyRemote } from "./client/remote/lazy-remote.ts";
import type { HookThreadData } from "./hooks/host/hook-protocol.ts";
import { runHookThread } from "./hooks/host/hook-thread.ts";
import { nameThread } from "./platform/threads/thread-entry.ts";

const { exit } = process;
nameThread("hooks");
const data: HookThreadData = { ...workerData };
// User code gets neither: what it posts goes nowhere, and the control port is out of its reach.
for (const name of Object.keys(data)) delete workerData[name];
(parentPort as MessagePort).close();
await once(parentPort as MessagePort, "close");
await runHookThread(data, new LazyRemote(data));
// Ends this thread only, whatever timers and sockets the hooks left open.
exit();
