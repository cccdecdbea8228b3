import { useRef } from "preact/hooks";
import type { PageState, PageVersion } from "../protocols/page/page-data.ts";
import { ModelList } from "./model-list.tsx";
import { ModelPart } from "./model-part.tsx";

interface ModelsPartProps {
  readonly state: PageState;
  /** Of the URL; empty = it names none. */
  readonly model: string;
  readonly version: string;
  readonly refresh: () => void;
}

/** The models, and all about one: that of the URL, else the first that was ready, for as long as it is there. */
export function ModelsPart({ state, model, version, refresh }: ModelsPartProps) {
  const last = useRef<PageVersion>(undefined);
  const { models, mayControl } = state;
  const shown = model === "" ? startOf(models, last.current) : named(models, model, version);
  last.current = shown;
  if (models.length === 0) return <p>No model is served.</p>;
  return (
    <div class="columns">
      <ModelList state={state} shown={shown} />
      {shown === undefined ? (
        <p role="status">{`${version === "" ? "" : `Version ${version} of `}${model} is not served. Choose another.`}</p>
      ) : (
        <ModelPart key={`${shown.model}/${shown.version}`} shown={shown} mayControl={mayControl} refresh={refresh} />
      )}
    </div>
  );
}

function named(models: readonly PageVersion[], model: string, version: string): PageVersion | undefined {
  const versions = models.filter((one) => one.model === model);
  if (version !== "") return versions.find((one) => one.version === version);
  return versions.find(({ isReady }) => isReady) ?? versions[0];
}

function startOf(models: readonly PageVersion[], last: PageVersion | undefined): PageVersion | undefined {
  const known = last && (named(models, last.model, last.version) ?? named(models, last.model, ""));
  return known ?? models.find(({ isReady }) => isReady) ?? models[0];
}
