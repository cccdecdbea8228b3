import { useMemo, useState } from "preact/hooks";
import type { PageState, PageVersion } from "../protocols/page/page-data.ts";
import { indexText } from "../tensor/elements.ts";
import type { Outcome } from "./answer-view.tsx";
import { callServer } from "./call-server.ts";
import { elementText } from "./form-tensor.ts";
import { OutputView } from "./output-view.tsx";
import { differencesOf, type OutputDifference } from "./value-summary.ts";

interface CompareProps {
  readonly shown: PageVersion;
  /** Sends the inputs of the form to a version. */
  readonly run: (version: PageVersion) => Promise<Outcome>;
}

/** The answers of two versions to the same inputs. */
interface Pair {
  readonly versions: readonly [PageVersion, PageVersion];
  readonly outcomes: readonly [Outcome, Outcome];
}

/** Sends the inputs of the form to another model or version too, and shows both answers and their difference. */
export function CompareView({ shown, run }: CompareProps) {
  const [others, setOthers] = useState<readonly PageVersion[]>([]);
  const [chosen, setChosen] = useState("");
  const [pair, setPair] = useState<Pair>();
  const [told, setTold] = useState("");
  const [isRunning, setRunning] = useState(false);
  // Large answers are not compared again with every key.
  const compared = useMemo(() => pair && <PairView pair={pair} />, [pair]);
  const open = async (isOpen: boolean) => {
    if (!isOpen) return;
    try {
      const found = await readOthers(shown);
      setOthers(found);
      setTold(found.length === 0 ? "No other model or version is ready." : "");
    } catch (reason) {
      setTold(reason instanceof Error ? reason.message : String(reason));
    }
  };
  const other = others.find((one) => nameOf(one) === chosen) ?? others[0];
  const compare = async () => {
    if (other === undefined) return;
    setPair(undefined);
    setRunning(true);
    // One after the other: side by side they would share the machine, and their times.
    const first = await run(shown);
    const second = await run(other);
    setPair({ versions: [shown, other], outcomes: [first, second] });
    setRunning(false);
  };
  return (
    <details onToggle={(event) => void open(event.currentTarget.open)}>
      <summary>Compare with another model or version</summary>
      <div class="buttons">
        <label class="inline">
          The other{" "}
          <select value={other && nameOf(other)} onChange={(event) => setChosen(event.currentTarget.value)}>
            {others.map((one) => (
              <option key={nameOf(one)}>{nameOf(one)}</option>
            ))}
          </select>
        </label>
        <button type="button" disabled={other === undefined || isRunning} onClick={() => void compare()}>
          Run both
        </button>
      </div>
      <p class="facts" role="status">
        {isRunning ? "Running …" : told}
      </p>
      {compared}
    </details>
  );
}

/** The versions that answer at once, as the shown one does. */
async function readOthers(shown: PageVersion): Promise<readonly PageVersion[]> {
  const { models } = (await (await callServer("ui/models")).json()) as PageState;
  return models.filter((one) => one.isReady && !one.isDecoupled && nameOf(one) !== nameOf(shown));
}

function nameOf({ model, version }: PageVersion): string {
  return `${model} version ${version}`;
}

function PairView({ pair: { versions, outcomes } }: { readonly pair: Pair }) {
  const [first, second] = outcomes.map(({ outputs }) => outputs);
  return (
    <section aria-label="Comparison">
      {first !== undefined && second !== undefined && <Differences rows={differencesOf(first, second)} />}
      <div class="pair">
        {versions.map((version, index) => (
          <Side key={nameOf(version)} version={version} outcome={outcomes[index] ?? {}} />
        ))}
      </div>
    </section>
  );
}

function Side({ version, outcome }: { readonly version: PageVersion; readonly outcome: Outcome }) {
  const { outputs = [], error, ms = 0 } = outcome;
  const specs = version.signatures[0]?.outputs ?? [];
  return (
    <section aria-label={`Answer of ${nameOf(version)}`}>
      <h4>
        {nameOf(version)} <span class="facts">{error === undefined && `after ${ms.toFixed(1)} ms`}</span>
      </h4>
      {error !== undefined && <p class="notice bad">{error}</p>}
      {outputs.map((output) => (
        <OutputView key={output.name} output={output} labels={specs.find(({ name }) => name === output.name)?.labels} />
      ))}
    </section>
  );
}

function Differences({ rows }: { readonly rows: readonly OutputDifference[] }) {
  return (
    <table>
      <caption>Greatest absolute difference by output</caption>
      <tbody>
        {rows.map(({ name, note, greatest }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>
              {note ?? (greatest && `${elementText(greatest.value)} at ${indexText(greatest.place, greatest.shape)}`)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
