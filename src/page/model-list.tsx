import type { PageState, PageVersion } from "../protocols/page/page-data.ts";
import { linkTo } from "./use-place.ts";

interface ModelListProps {
  readonly state: PageState;
  readonly shown: PageVersion | undefined;
}

/** The models with their versions and states. */
export function ModelList({ state, shown }: ModelListProps) {
  return (
    <nav class="models" aria-label="Models">
      <ul>
        {state.models.map((one) => (
          <li key={`${one.model}/${one.version}`}>
            <a href={linkTo("models", one.model, one.version)} aria-current={one === shown ? "true" : undefined}>
              <span class="name">{one.model}</span>
              <span class="facts">
                version {one.version}
                {one.labels.map((label) => `, ${label}`)}
              </span>
              <State of={one} />
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** The state of a version in a word. */
export function State({ of: { isReady, state, reason } }: { readonly of: PageVersion }) {
  const isFailed = !isReady && reason !== "" && (state === "END" || state === "AVAILABLE");
  const word = isReady ? "ready" : state === "END" ? "not loaded" : state.toLowerCase();
  return <span class={`state ${isReady ? "good" : isFailed ? "bad" : "busy"}`}>{word}</span>;
}
