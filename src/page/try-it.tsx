import { useMemo, useState } from "preact/hooks";
import type { PageVersion } from "../protocols/page/page-data.ts";
import { OutcomeView } from "./answer-view.tsx";
import type { Live } from "./camera-field.tsx";
import { CompareView } from "./compare-view.tsx";
import { CopyLink, canCopy, useCopy } from "./copy-link.tsx";
import { InputField } from "./input-field.tsx";
import { KeptRequests } from "./kept-requests.tsx";
import { LANGUAGES, type Language, type SentRequest, snippet } from "./snippets.ts";
import { TableForm } from "./table-form.tsx";
import { type Form, useForm } from "./use-form.ts";
import { infer, useRuns } from "./use-runs.ts";

/** A form that runs a version of a model. */
export function TryIt({ shown }: { readonly shown: PageVersion }) {
  const { model, isDecoupled } = shown;
  const form = useForm(shown);
  const { outcome, isRunning, count, run, stop, live } = useRuns(shown, form);
  const isLive = live.input !== undefined;
  // Large ones are not drawn again whenever the page hears of the models.
  const answer = useMemo(() => <OutcomeView outcome={outcome} />, [outcome]);
  return (
    <section aria-labelledby="try">
      <h3 id="try">Try it</h3>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
      >
        <p class="facts" role="status">
          {isLive ? "Live: the next frame is sent when the last one is answered." : form.note}
        </p>
        <FormFields form={form} live={isDecoupled ? undefined : live} />
        <div class="buttons">
          <button type="submit" class="main" disabled={isRunning || isLive || form.isPending}>
            {isRunning ? "Running …" : "Run"}
          </button>
          {isDecoupled && (
            <button type="button" disabled={!isRunning} onClick={stop}>
              Stop
            </button>
          )}
          <CopyLink of={shown} readForm={form.toWritten} />
        </div>
      </form>
      <KeptRequests model={model} count={count} onFill={form.fill} />
      {/* No one can listen to an answer for each frame. */}
      <div aria-live={isLive ? "off" : "polite"}>{answer}</div>
      {!isDecoupled && <CompareView shown={shown} run={(one) => infer(one, () => form.readInputs(form.stateOf))} />}
      {/* Those programs take one answer. */}
      {!isDecoupled && <SnippetsView readRequest={form.toRequest} />}
    </section>
  );
}

/** The fields: those of columns, of tensors, or one for inputs of any names. */
function FormFields({ form, live }: { readonly form: Form; readonly live: Live | undefined }) {
  const { inputs, stateOf, change, free, setFree, table, rows, setRows, isPending, hasTable, isPlain, setPlain } = form;
  if (isPending) return <p>Loading the columns …</p>;
  if (inputs === undefined)
    return (
      <label>
        Inputs by name, as JSON
        <textarea rows={4} spellcheck={false} value={free} onInput={(event) => setFree(event.currentTarget.value)} />
      </label>
    );
  return (
    <>
      {table !== undefined && <TableForm table={table} rows={rows} onChange={setRows} />}
      {table === undefined &&
        inputs.map((tensor) => (
          <InputField
            key={tensor.name}
            tensor={tensor}
            value={stateOf(tensor.name)}
            onChange={(state) => change(tensor.name, state)}
            live={live}
          />
        ))}
      {hasTable && (
        <label class="check">
          <input type="checkbox" checked={isPlain} onChange={(event) => setPlain(event.currentTarget.checked)} />
          as tensors, in place of a table
        </label>
      )}
    </>
  );
}

/** The form's request as a program, to copy. */
function SnippetsView({ readRequest }: { readonly readRequest: () => SentRequest }) {
  const [language, setLanguage] = useState<Language>("curl");
  const { told, copy } = useCopy();
  const [isOpen, setOpen] = useState(false);
  const text = isOpen ? textOf(language, readRequest) : "";
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>The same request as a program</summary>
      <div class="buttons">
        <label class="inline">
          Language{" "}
          <select value={language} onChange={(event) => setLanguage(event.currentTarget.value as Language)}>
            {LANGUAGES.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        {canCopy() && (
          <button type="button" onClick={() => copy(text)}>
            Copy
          </button>
        )}
        <span class="facts" role="status">
          {told}
        </span>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached by keyboard */}
      <pre tabIndex={0}>{text}</pre>
    </details>
  );
}

function textOf(language: Language, readRequest: () => SentRequest): string {
  try {
    return snippet(language, readRequest());
  } catch (reason) {
    return reason instanceof Error ? reason.message : String(reason);
  }
}
