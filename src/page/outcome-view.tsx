import type { PageTensor } from "../protocols/page/page-data.ts";
import { AnswerView } from "./answer-view.tsx";
import type { FormTensor } from "./form-tensor.ts";
import { OverlayView, type SentImage } from "./overlay-view.tsx";

/** An answer, or why there is none. */
export interface Outcome {
  readonly outputs?: readonly FormTensor[];
  /** What is known of the outputs. */
  readonly specs?: readonly PageTensor[];
  readonly error?: string;
  readonly ms?: number;
  /** The image that was sent. */
  readonly image?: SentImage | undefined;
}

/** An answer with what it says of the image, or an error. */
export function OutcomeView({ outcome: { outputs, specs = [], error, ms = 0, image } }: { readonly outcome: Outcome }) {
  return (
    <>
      {error !== undefined && <p class="notice bad">{error}</p>}
      {outputs !== undefined && image !== undefined && (
        <OverlayView outputs={outputs.filter((output) => !isOfClasses(output, specs))} image={image} />
      )}
      {outputs !== undefined && <AnswerView outputs={outputs} ms={ms} specs={specs} />}
    </>
  );
}

/** Scores of four to six classes have the form of a box. */
function isOfClasses({ name, shape }: FormTensor, specs: readonly PageTensor[]): boolean {
  return specs.find((spec) => spec.name === name)?.labels?.length === shape.at(-1);
}
