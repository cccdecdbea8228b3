import type { Pointer } from "../../../native/bind-functions.ts";
import type { OpenvinoApi } from "./c-api.ts";
import type { ElementCodes } from "./element-codes.ts";

/** Parts that all objects of one core share. */
export interface NativeContext {
  readonly api: OpenvinoApi;
  readonly core: Pointer;
  readonly codes: ElementCodes;
}
