import { useState } from "preact/hooks";
import type { PageVersion } from "../protocols/page/page-data.ts";
import { AnswerView } from "./answer-view.tsx";
import { callServer, urlOf } from "./call-server.ts";
import type { FormTensor } from "./form-tensor.ts";
import { parseFreeInputs } from "./free-inputs.ts";
import { readOutputs } from "./infer-answer.ts";
import { inferRequest } from "./infer-request.ts";
import { InputField } from "./input-field.tsx";
import { toFormTensor } from "./input-state.ts";
import { SnippetsView } from "./snippets-view.tsx";
import { useForm } from "./use-form.ts";

/** An answer, or why there is none. */
interface Outcome {
  readonly outputs?: readonly FormTensor[];
  readonly error?: string;
  readonly ms?: number;
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
    setOutcome(await infer(shown, readInputs));
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
        {outcome.outputs !== undefined && (
          <AnswerView outputs={outcome.outputs} ms={outcome.ms ?? 0} specs={signatures[0]?.outputs ?? []} />
        )}
      </div>
      <SnippetsView readRequest={() => ({ base: urlOf("./"), model, version, inputs: readInputs() })} />
    </section>
  );
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
