import { useState } from "preact/hooks";
import type { PageTensor, PageVersion } from "../protocols/page/page-data.ts";
import { AnswerView } from "./answer-view.tsx";
import type { Sides } from "./boxes-of.ts";
import { callServer, isSignedIn, urlOf } from "./call-server.ts";
import type { FormTensor } from "./form-tensor.ts";
import { parseFreeInputs } from "./free-inputs.ts";
import { readOutputs } from "./infer-answer.ts";
import { inferRequest } from "./infer-request.ts";
import { InputField } from "./input-field.tsx";
import { type InputState, toFormTensor } from "./input-state.ts";
import { OverlayView, type SentImage } from "./overlay-view.tsx";
import { SnippetsView } from "./snippets-view.tsx";
import { useForm } from "./use-form.ts";

/** An answer, or why there is none. */
interface Outcome {
  readonly outputs?: readonly FormTensor[];
  readonly error?: string;
  readonly ms?: number;
  /** The image that was sent. */
  readonly image?: SentImage | undefined;
}

const FREE = '{"x": [1, 2, 3]}';

/** A form that runs a version of a model. */
export function TryIt({ shown }: { readonly shown: PageVersion }) {
  const { model, version, signatures } = shown;
  const { inputs, stateOf, change } = useForm(shown);
  const [free, setFree] = useState(FREE);
  const [outcome, setOutcome] = useState<Outcome>({});
  const [isRunning, setRunning] = useState(false);
  const readInputs = () =>
    inputs === undefined ? parseFreeInputs(free) : inputs.flatMap((one) => toFormTensor(one, stateOf(one.name)) ?? []);
  const run = async (event: Event) => {
    event.preventDefault();
    setRunning(true);
    const image = sentImage(inputs ?? [], stateOf);
    setOutcome({ ...(await infer(shown, readInputs)), image });
    setRunning(false);
  };
  return (
    <section aria-labelledby="try">
      <h3 id="try">Try it</h3>
      <form onSubmit={(event) => void run(event)}>
        {inputs?.map((tensor) => (
          <InputField
            key={tensor.name}
            tensor={tensor}
            value={stateOf(tensor.name)}
            onChange={(state) => change(tensor.name, state)}
          />
        ))}
        {inputs === undefined && (
          <label>
            Inputs by name, as JSON
            <textarea
              rows={4}
              spellcheck={false}
              value={free}
              onInput={(event) => setFree(event.currentTarget.value)}
            />
          </label>
        )}
        <button type="submit" class="main" disabled={isRunning}>
          Run
        </button>
      </form>
      <div aria-live="polite">
        {outcome.error !== undefined && <p class="notice bad">{outcome.error}</p>}
        {outcome.outputs !== undefined && outcome.image !== undefined && (
          <OverlayView outputs={outcome.outputs} image={outcome.image} />
        )}
        {outcome.outputs !== undefined && (
          <AnswerView outputs={outcome.outputs} ms={outcome.ms ?? 0} specs={signatures[0]?.outputs ?? []} />
        )}
      </div>
      <SnippetsView
        readRequest={() => ({ base: urlOf("./"), model, version, inputs: readInputs(), isSignedIn: isSignedIn() })}
      />
    </section>
  );
}

/** The first image among the inputs, with the size that its input has in the model. */
function sentImage(inputs: readonly PageTensor[], stateOf: (name: string) => InputState): SentImage | undefined {
  const sent = inputs.find(({ name }) => stateOf(name).file?.imageUrl !== undefined);
  const url = sent && stateOf(sent.name).file?.imageUrl;
  return url === undefined ? undefined : { url, sides: sidesOf(sent?.shape ?? []) };
}

/** Height and width of an input of images: the two sizes that are not channels. */
function sidesOf(shape: readonly number[]): Sides | undefined {
  const [height = -1, width = -1] = shape.slice(-3).filter((size) => size !== 1 && size !== 3);
  return height > 4 && width > 4 ? { width, height } : undefined;
}

async function infer({ model, version }: PageVersion, readInputs: () => readonly FormTensor[]): Promise<Outcome> {
  try {
    const request = inferRequest(readInputs());
    const started = performance.now();
    const response = await callServer(`v2/models/${encodeURIComponent(model)}/versions/${version}/infer`, request);
    const body = await response.arrayBuffer();
    const ms = performance.now() - started;
    return { outputs: readOutputs(body, response.headers.get("inference-header-content-length")), ms };
  } catch (reason) {
    return { error: reason instanceof Error ? reason.message : String(reason) };
  }
}
