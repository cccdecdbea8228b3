import { isLargeText } from "../../codec-host/large-message.ts";
import { ServingError } from "../../errors.ts";
import { answeredTensors } from "../answered-tensors.ts";
import type { WritePredicted } from "../tensorflow-serving/http-predict.ts";
import { versionHeaders } from "../tensorflow-serving/http-version.ts";
import { type ArrayForm, writeArray, writeArrayJob } from "./write-array.ts";

/** Writes the first output of a model as an array of this form. */
export function arrayAnswer(form: ArrayForm, contentType: string): WritePredicted {
  return async ({ signature, answer }, exchange) => {
    const outputs = answeredTensors(answer);
    const tensor = outputs[signature.spec?.outputs?.[0]?.name ?? ""] ?? Object.values(outputs)[0];
    if (tensor === undefined) throw new ServingError("internal", "The model gave no output.");
    const body = isLargeText([tensor])
      ? await exchange.encode(writeArrayJob, [tensor, form])
      : writeArray(tensor, form);
    return { contentType, body, ...versionHeaders(answer) };
  };
}
