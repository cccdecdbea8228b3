import type { MessageClient } from "../../client/remote/grpc-client.ts";
import { publicText, ServingError } from "../../errors.ts";
import { compareTensors, type Difference, type Tolerances } from "./compare-tensors.ts";
import { Pace, type ReplayRate } from "./pace.ts";
import { type RecordedCall, recordedCalls } from "./recorded-calls.ts";
import { answerTensors, retarget } from "./recorded-messages.ts";
import { ReplayOutcome } from "./replay-outcome.ts";

/** Requests to send again, and how. */
export interface ReplayOptions {
  readonly files: readonly string[];
  readonly rate: ReplayRate;
  /** Maximum number of requests at a time. */
  readonly concurrency: number;
  /** Model to use instead of the recorded one. */
  readonly model?: string | undefined;
  readonly tolerances: Tolerances;
  /** Milliseconds after which a request fails. */
  readonly timeoutMs: number;
  /** Sends no further requests once it aborts. */
  readonly signal?: AbortSignal;
  /** Notified of the results so far before each request. */
  readonly onProgress?: (outcome: ReplayOutcome) => void;
}

/** Sends recorded requests in their order and compares the answers; rejects for a file that holds something else. */
export async function runReplay(client: MessageClient, options: ReplayOptions): Promise<ReplayOutcome> {
  const outcome = new ReplayOutcome();
  const pace = new Pace(options.rate, options.concurrency, options.signal);
  for (const file of options.files) {
    if (options.signal?.aborted) break;
    for await (const call of recordedCalls(file, outcome)) {
      if (options.rate === "recorded" && call.timeMs === undefined) outcome.untimed++;
      await pace.next(call.timeMs);
      if (options.signal?.aborted) break;
      options.onProgress?.(outcome);
      pace.run(() => send(client, call, { ...options, outcome }));
    }
  }
  await pace.finished();
  return outcome;
}

type Sending = Pick<ReplayOptions, "model" | "tolerances" | "timeoutMs"> & { readonly outcome: ReplayOutcome };

async function send(client: MessageClient, call: RecordedCall, { model, outcome, ...options }: Sending): Promise<void> {
  const { kind, path, request, place } = call;
  try {
    const message = model === undefined ? request : retarget(kind, request, model);
    const started = performance.now();
    const answer = await client.call(path, message, options.timeoutMs);
    const latencyMs = performance.now() - started;
    outcome.answered(place, latencyMs, differencesOf(call, answer, options.tolerances));
  } catch (reason) {
    outcome.fail(place, `${ServingError.from(reason).code}: ${publicText(reason)}`);
  }
}

function differencesOf(
  { kind, response }: RecordedCall,
  answer: Uint8Array,
  tolerances: Tolerances,
): readonly Difference[] | undefined {
  if (response === undefined) return undefined;
  return compareTensors(answerTensors(kind, response), answerTensors(kind, answer), tolerances);
}
