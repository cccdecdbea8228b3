import type { PageVersion } from "../protocols/page/page-data.ts";
import { Chain } from "./chain.tsx";
import { Controls } from "./controls.tsx";
import { State } from "./model-list.tsx";
import { SignatureTables } from "./signature-tables.tsx";
import { TryIt } from "./try-it.tsx";

interface ModelPartProps {
  readonly shown: PageVersion;
  readonly mayControl: boolean;
  readonly refresh: () => void;
}

/** All about one version of a model. */
export function ModelPart({ shown, mayControl, refresh }: ModelPartProps) {
  const { model, version, reason, isReady, stages, signatures } = shown;
  return (
    <article aria-labelledby="model">
      <h2 id="model">
        {model} <span class="facts">version {version}</span> <State of={shown} />
      </h2>
      {reason !== "" && <p class="notice bad">{reason}</p>}
      {mayControl && <Controls of={shown} refresh={refresh} />}
      {stages.length > 0 && <Chain of={shown} />}
      {isReady && <TryIt shown={shown} />}
      <SignatureTables signatures={signatures} />
    </article>
  );
}
