import type { TensorSpec } from "../tensor/signature/signature.ts";
import type { Tensor, Tensors } from "../tensor/tensor.ts";

/** Inputs or outputs as a hook file declares them. */
export type Specs = readonly TensorSpec[];

/** Tensors by the names in `Declared`, each of its dtype; any tensors if these are not known to the compiler. */
export type TensorsOf<Declared extends Specs> = string extends Declared[number]["name"]
  ? Tensors
  : { readonly [Spec in Declared[number] as Spec["name"]]: Tensor<Spec["dtype"]> };

/**
 * Refuses members that are not among `Members`, and a last hook whose result contradicts the outputs that are declared.
 */
export type CheckedHooks<Given, Outputs extends Specs, Members> = {
  readonly [Member in Exclude<keyof Given, keyof Members>]: never;
} & ([WrongOutput<ResultOf<LastHook<Given>>, Outputs>] extends [never]
  ? unknown
  : { readonly outputs: { readonly notReturned: WrongOutput<ResultOf<LastHook<Given>>, Outputs> } });

type LastHook<Given> = Given extends { readonly process: infer Process }
  ? Process
  : Given extends { readonly postprocess: readonly [...unknown[], infer Last] }
    ? Last
    : Given extends { readonly postprocess: infer Only }
      ? Only
      : never;

/** The values that a hook returns, or yields. */
type ResultOf<Function> = Function extends (...args: never[]) => infer Result
  ? Result extends AsyncIterator<infer Part> | Iterator<infer Part>
    ? Awaited<Part>
    : Awaited<Result>
  : never;

/** Names of outputs that a result does not have, or has as a tensor of another dtype. */
type WrongOutput<Result, Outputs extends Specs> = [Result] extends [never]
  ? never
  : string extends keyof Result | Outputs[number]["name"]
    ? never
    : {
        [Spec in Outputs[number] as Spec["name"]]: IsReturned<Result, Spec> extends true ? never : Spec["name"];
      }[Outputs[number]["name"]];

type IsReturned<Result, Spec extends TensorSpec> = Result extends { readonly [Name in Spec["name"]]: infer Value }
  ? Value extends { readonly dtype: infer DType }
    ? [DType & Spec["dtype"]] extends [never]
      ? false
      : true
    : true
  : false;
