/** A deliberate fault of what threads do together. */
export interface ThreadMutant {
  /** The simulation that finds it. */
  readonly of: "serving" | "queue" | "hooks" | "streams";
  /** The fault, as the end of "a server that ...". */
  readonly what: string;
  /** Path below `src/`. */
  readonly file: string;
  /** Text that is there once, and what takes its place. */
  readonly from: string;
  readonly to: string;
}

/** Each is found by its simulation within this number of histories. */
export const THREAD_HISTORIES = { queue: 300, hooks: 300, streams: 100 } as const;

const QUEUE: readonly Omit<ThreadMutant, "of">[] = [
  {
    what: "runs a model more often at the same time than it takes",
    file: "models/queue/run-queue.ts",
    from: "while (this.#running < this.#concurrency && this.#waiting.length > 0) {",
    to: "while (this.#running <= this.#concurrency && this.#waiting.length > 0) {",
  },
  {
    what: "runs what has been cancelled in its queue",
    file: "models/queue/run-queue.ts",
    from: "run.onLeave((reason) => this.#leave(run, reason));",
    to: "",
  },
  {
    what: "does not give the place of a run back",
    file: "models/queue/run-queue.ts",
    from: "this.#running--;",
    to: "",
  },
  {
    what: "lets one client go before the others however much it asks",
    file: "models/queue/client-turns.ts",
    from: "const turn = Math.max(this.#now, this.#next.get(client) ?? 0);",
    to: "const turn = client;",
  },
  {
    what: "gives one request of a batch the rows of another",
    file: "models/queue/batch-policy.ts",
    from: "start = end;",
    to: "",
  },
  {
    what: "lets the models of one thread work at the same time",
    file: "models/threads/thread-turns.ts",
    from: "this.#isTaken = next !== undefined;",
    to: "this.#isTaken = false;",
  },
  {
    what: "frees a model under its runs",
    file: "models/hosted-model.ts",
    from: ".then(() => queue.idle())",
    to: "",
  },
  {
    what: "leaves clients at a thread that was replaced",
    file: "models/threads/supervised-model.ts",
    from: "this.#onReplaced(this.#instance, thread, resend);",
    to: "",
  },
  {
    what: "frees a model in a thread that hung before its clients have left it",
    file: "models/threads/supervised-model.ts",
    from: 'await this.#replace(new Backoff(BACKOFF), lost.culprit !== "this");',
    to: 'void thread.close();\nawait this.#replace(new Backoff(BACKOFF), lost.culprit !== "this");',
  },
  {
    what: "runs a request again that may have ended its thread",
    file: "models/threads/model-client.ts",
    from: "old?.close(resend);",
    to: "old?.close(true);",
  },
  {
    what: "keeps a thread without models",
    file: "models/threads/model-thread-host.ts",
    from: "this.#models.delete(id);\n        await this.#leave();",
    to: "this.#models.delete(id);",
  },
  {
    what: "does not tell a thread that a request was cancelled",
    file: "platform/threads/responder.ts",
    from: "this.#running.get(record.id)?.abort();",
    to: "",
  },
  {
    what: "leaves requests waiting for a thread that has ended",
    file: "platform/threads/rpc-client.ts",
    from: "this.#channel.onClose(() => this.#failAll());",
    to: "",
  },
];

const HOOKS: readonly Omit<ThreadMutant, "of">[] = [
  {
    what: "runs a request again that a thread had begun",
    file: "hooks/host/hook-pool.ts",
    from: "if (wasNeverStarted(reason) && this.#canRunAgain(request))",
    to: "if (this.#canRunAgain(request))",
  },
  {
    what: "does not mark which request a thread has begun",
    file: "platform/threads/heartbeat.ts",
    from: "atomicStore(this.#lastId, 0, id);",
    to: "",
  },
  {
    what: "takes no other request once one is over",
    file: "hooks/host/hook-pool.ts",
    from: "} finally {\n      this.#takeNext();\n    }",
    to: "} finally {\n    }",
  },
  {
    what: "keeps the threads of hooks that were replaced",
    file: "hooks/host/hook-pool.ts",
    from: "await old.retire();",
    to: "",
  },
  {
    what: "keeps the threads of hooks that could not be started",
    file: "hooks/host/hook-pool.ts",
    from: "await next.dispose();",
    to: "",
  },
  {
    what: "does not replace a thread that has ended",
    file: "hooks/host/hook-generation.ts",
    from: "this.#replacements.afterCrash(worker.hasAnswered, () => void this.#replace(start));",
    to: "",
  },
  {
    what: "does not try again to replace a thread",
    file: "hooks/host/hook-generation.ts",
    from: "this.#replacements.afterFailedStart(() => void this.#replace(start));",
    to: "",
  },
  {
    what: "gives a thread any number of requests",
    file: "hooks/host/hook-generation.ts",
    from: "return this.#freest(MAX_STARTED);",
    to: "return this.#freest(Number.POSITIVE_INFINITY);",
  },
  {
    what: "does not end a thread that spins",
    file: "hooks/host/hook-control.ts",
    from: "void this.#worker.terminate();",
    to: "",
  },
  {
    what: "keeps the models of hooks whose thread has ended",
    file: "hooks/host/hook-worker.ts",
    from: "this.#leases?.end();",
    to: "",
  },
  {
    what: "holds who has left until a thread that was lost has ended",
    file: "hooks/host/hook-worker.ts",
    from: "await unlessAborted(this.ended, signal);",
    to: "await this.ended;",
  },
  {
    what: "runs the request of a client that has left while it waited",
    file: "hooks/host/request-queue.ts",
    from: "this.#queue.remove(waiting);",
    to: "",
  },
];

const STREAMS: readonly Omit<ThreadMutant, "of">[] = [
  {
    what: "sends parts before there is room for them",
    file: "platform/threads/part-window.ts",
    from: "if (this.#ahead.isFull)\n      await new Promise",
    to: "if (this.#ahead.isFull && this.#resume)\n      await new Promise",
  },
  {
    what: "gives no credit for parts that were taken",
    file: "platform/threads/part-reader.ts",
    from: "this.#credit?.took(next.bytes);",
    to: "",
  },
  {
    what: "keeps the memory of parts that nobody takes",
    file: "platform/threads/part-reader.ts",
    from: "this.#shrink(this.#waitingBytes);",
    to: "",
  },
  {
    what: "writes a part before the one before it was taken",
    file: "platform/threads/part-reader.ts",
    from: "await this.#options.write(next.part);",
    to: "void this.#options.write(next.part);",
  },
  {
    what: "writes the last part first",
    file: "platform/threads/part-reader.ts",
    from: "next !== undefined; next = this.#waiting.shift())",
    to: "next !== undefined; next = this.#waiting.pop())",
  },
  {
    what: "ends an answer before its parts were taken",
    file: "platform/threads/part-reader.ts",
    from: "await this.#written();",
    to: "",
  },
  {
    what: "tells nobody that others wait for a place",
    file: "platform/limits/held-places.ts",
    from: "next.holder.crowded();",
    to: "",
  },
  {
    what: "does not end the generator of a hook whose reader has left",
    file: "hooks/run-hook.ts",
    from: "if (parts !== undefined) onLeft(leave(parts, run));",
    to: "",
  },
  {
    what: "does not end the generator of a model whose reader has left",
    file: "models/run-model.ts",
    from: "await run.leave();",
    to: "",
  },
];

/** Faults of queues, of threads and of answers in parts. */
export const THREAD_MUTANTS: readonly ThreadMutant[] = [
  ...QUEUE.map((mutant) => ({ of: "queue", ...mutant }) as const),
  ...HOOKS.map((mutant) => ({ of: "hooks", ...mutant }) as const),
  ...STREAMS.map((mutant) => ({ of: "streams", ...mutant }) as const),
];
