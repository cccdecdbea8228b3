import type { PageStage, PageVersion } from "../protocols/page/page-data.ts";
import { sizeText } from "../text/size-text.ts";

/** The way of a request through hooks and models, as a drawn chain. */
export function Chain({ of: { stages, hooks, maxBatchSize } }: { readonly of: PageVersion }) {
  const has = (hook: string) => hooks.includes(hook);
  return (
    <section aria-labelledby="chain">
      <h3 id="chain">Chain</h3>
      <ol class="chain">
        <li class="end">request</li>
        {has("process") && <Hook name="process" detail="calls the models" />}
        {stages.map((stage, index) => (
          <>
            {has(`preprocess ${index + 1}`) && <Hook name="preprocess" detail="hook" />}
            <Stage stage={stage} number={index + 1} />
            {has(`postprocess ${index + 1}`) && <Hook name="postprocess" detail="hook" />}
          </>
        ))}
        <li class="end">answer</li>
      </ol>
      {maxBatchSize > 0 && <p class="facts">Waiting requests run in batches of up to {maxBatchSize} rows.</p>}
    </section>
  );
}

function Hook({ name, detail }: { readonly name: string; readonly detail: string }) {
  return (
    <li class="hook">
      <strong>{name}</strong>
      <span class="facts">{detail}</span>
    </li>
  );
}

function Stage({ stage, number }: { readonly stage: PageStage; readonly number: number }) {
  const { driver, file, runtime, loadMs, memoryBytes } = stage;
  const memory = memoryBytes === undefined ? "" : `, ${sizeText(memoryBytes)}`;
  return (
    <li class="stage">
      <strong>{file === "" ? `model ${number}` : file}</strong>
      <span class="facts">{driver}</span>
      <span class="facts" title={runtime}>
        loaded in {Math.round(loadMs)} ms{memory}
      </span>
    </li>
  );
}
