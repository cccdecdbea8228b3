import type { Values } from "../tensor/plain-value.ts";
import type { Tensors } from "../tensor/tensor.ts";

/** Choices for a model's predict. */
export interface PredictOptions {
  readonly signature?: string;
  readonly outputs?: readonly string[];
}

/** The models of this server by name, each with its own queue and batching. */
export interface OtherModels {
  /** A model by the name that clients use; its highest available version answers each call. */
  get(name: string): OtherModel;
}

/** Another model of this server. */
export interface OtherModel {
  /**
   * Runs the model, hooks included. Plain values become tensors of the input's dtype. Rejects with `not_found` where
   * there is no such model.
   */
  predict(inputs: Values, options?: PredictOptions): Promise<Tensors>;
}

/** A client of another server. */
export interface RemoteHandle {
  predict(inputs: Values, options?: RemotePredictOptions): Promise<Tensors>;
}

/** Choices for {@link RemoteHandle.predict}. */
export interface RemotePredictOptions extends PredictOptions {
  readonly model?: string;
  /** Default: the time left until this request's own deadline. */
  readonly timeoutMs?: number;
  /**
   * The `Authorization` by which the other server knows this one, such as
   * `Bearer TOKEN`. Default: none, also where the client has sent one.
   */
  readonly authorization?: string;
}
