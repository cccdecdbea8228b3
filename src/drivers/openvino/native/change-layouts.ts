import type { Pointer } from "../../../native/bind-functions.ts";
import type { LayoutChange } from "../engine.ts";
import type { OpenvinoApi } from "./c-api.ts";
import { check, takePointer } from "./status.ts";

/**
 * A model that takes inputs in other layouts and transposes them; built from the given model, which must not be used
 * any more.
 */
export function changeLayouts(api: OpenvinoApi, model: Pointer, changes: ReadonlyMap<number, LayoutChange>): Pointer {
  const steps: Made = {
    make: (at) => api.ov_preprocess_prepostprocessor_create(model, at),
    free: api.ov_preprocess_prepostprocessor_free,
  };
  return withMade(api, steps, (processor) => {
    for (const [place, change] of changes) changeLayout(api, { processor, place, change });
    return takePointer(api, (at) => api.ov_preprocess_prepostprocessor_build(processor, at));
  });
}

interface InputChange {
  readonly processor: Pointer;
  readonly place: number;
  readonly change: LayoutChange;
}

function changeLayout(api: OpenvinoApi, { processor, place, change }: InputChange): void {
  const input: Made = {
    make: (at) => api.ov_preprocess_prepostprocessor_get_input_info_by_index(processor, place, at),
    free: api.ov_preprocess_input_info_free,
  };
  withMade(api, input, (info) => {
    const client: Made = {
      make: (at) => api.ov_preprocess_input_info_get_tensor_info(info, at),
      free: api.ov_preprocess_input_tensor_info_free,
    };
    const model: Made = {
      make: (at) => api.ov_preprocess_input_info_get_model_info(info, at),
      free: api.ov_preprocess_input_model_info_free,
    };
    setLayout(api, client, { set: api.ov_preprocess_input_tensor_info_set_layout, layout: change.client });
    setLayout(api, model, { set: api.ov_preprocess_input_model_info_set_layout, layout: change.model });
  });
}

function setLayout(
  api: OpenvinoApi,
  side: Made,
  { set, layout }: { readonly set: (side: Pointer, layout: Pointer) => number; readonly layout: string },
): void {
  const axes: Made = { make: (at) => api.ov_layout_create(layout, at), free: api.ov_layout_free };
  withMade(api, side, (pointer) => withMade(api, axes, (native) => check(api, set(pointer, native))));
}

/** An object that a function makes for us, and the one that frees it. */
interface Made {
  readonly make: (at: BigUint64Array) => number;
  readonly free: (pointer: Pointer) => unknown;
}

function withMade<Value>(api: OpenvinoApi, { make, free }: Made, use: (pointer: Pointer) => Value): Value {
  const pointer = takePointer(api, make);
  try {
    return use(pointer);
  } finally {
    free(pointer);
  }
}
