import * as tf from "@tensorflow/tfjs-core";
import { ServingError } from "../../../errors.ts";

/** Members of the engine that are not declared; both register a tensor. */
interface Registry {
  trackTensor(tensor: tf.Tensor, backend: unknown): void;
  incRef(tensor: tf.Tensor, backend: unknown): void;
}

/** An object with the flag by which tensors are spared when a scope ends. */
interface Keepable {
  kept: boolean;
}

let last: Promise<unknown> = Promise.resolve();

/** Runs one after the other whatever in this thread must not see another's tensors come and go. */
export function exclusively<T>(run: () => Promise<T>): Promise<T> {
  const next = last.then(run, run);
  last = next.catch(() => {});
  return next;
}

/**
 * Awaits a run of tfjs-converter's asynchronous executor, and frees every tensor that it made except what `read` has
 * taken out of its results. That executor disposes of tensors that the bodies of loops still need, although they are
 * kept, and leaks others; so nothing that is kept is disposed of before the end, and everything after it. Use it within
 * {@link exclusively}. Throws `deadline_exceeded` from within a loop that runs on after `timeoutMs`.
 */
export async function runScoped<T>(
  run: () => Promise<tf.Tensor[]>,
  read: (results: tf.Tensor[]) => T,
  timeoutMs = Number.POSITIVE_INFINITY,
): Promise<T> {
  const made = new Set<tf.Tensor>();
  const restore = watchTensors(made, performance.now() + timeoutMs);
  try {
    return read(await run());
  } finally {
    restore();
    for (const tensor of made) {
      if (tensor.isDisposed) continue;
      (tensor as unknown as Keepable).kept = false;
      tensor.dispose();
    }
  }
}

/** The executor never yields to timers, so that only what it calls can stop it. */
function watchTensors(made: Set<tf.Tensor>, deadline: number): () => void {
  const { prototype } = tf.Tensor;
  const engine = tf.engine() as unknown as Registry;
  const { dispose } = prototype;
  const { trackTensor, incRef } = engine;
  prototype.dispose = function (this: tf.Tensor) {
    if (!(made.has(this) && (this as unknown as Keepable).kept)) dispose.call(this);
  };
  engine.trackTensor = (tensor, backend) => {
    trackTensor.call(engine, tensor, backend);
    made.add(tensor);
    if (performance.now() > deadline) {
      throw new ServingError("deadline_exceeded", "The model was still running when the request's deadline passed.");
    }
  };
  engine.incRef = (tensor, backend) => {
    incRef.call(engine, tensor, backend);
    made.add(tensor);
  };
  return () => {
    prototype.dispose = dispose;
    Object.assign(engine, { trackTensor, incRef });
  };
}
