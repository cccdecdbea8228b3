import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { callServer } from "./call-server.ts";

/** Lines that are compared: a table of more is not read. */
const MAX_LINES = 32;
const SOME_LINES = "A cat sleeps on the mat.\nA kitten naps on a rug.\nThe market fell today.";

interface LinesProps {
  readonly model: string;
}

/** Tells how alike lines are to a model that gives a vector for each. */
export function EmbedView({ model }: LinesProps) {
  const [text, setText] = useState(SOME_LINES);
  const { answer, problem, isRunning, ask } = useAsked<readonly Line[]>();
  const run = () =>
    ask(async () => {
      const input = linesOf(text);
      if (input.length < 2) throw new Error("Write two lines at least.");
      const { data } = await post<{ data: readonly { embedding: readonly number[] }[] }>("v1/embeddings", {
        ...{ model, input, encoding_format: "float" },
      });
      return input.map((line, index) => ({ line, vector: data[index]?.embedding ?? [] }));
    });
  return (
    <section aria-labelledby="embed">
      <h3 id="embed">How alike are texts?</h3>
      <LinesForm button="Compare" {...{ text, setText, isRunning, problem, run }} />
      <div aria-live="polite">{answer && <Similarities lines={answer} />}</div>
    </section>
  );
}

/** Sorts lines by how well they fit a query, as a model scores them. */
export function RerankView({ model }: LinesProps) {
  const [query, setQuery] = useState("Where does a cat sleep?");
  const [text, setText] = useState(SOME_LINES);
  const { answer, problem, isRunning, ask } = useAsked<readonly Ranked[]>();
  const run = () =>
    ask(async () => {
      const documents = linesOf(text);
      if (documents.length === 0) throw new Error("Write one line at least.");
      const { results } = await post<{ results: readonly { index: number; relevance_score: number }[] }>("v1/rerank", {
        ...{ model, query, documents },
      });
      return results.map(({ index, relevance_score: score }) => ({ line: documents[index] ?? "", index, score }));
    });
  return (
    <section aria-labelledby="rerank">
      <h3 id="rerank">Which texts fit a query?</h3>
      <LinesForm button="Sort" {...{ text, setText, isRunning, problem, run }}>
        <label>
          Query
          <input value={query} onInput={(event) => setQuery(event.currentTarget.value)} />
        </label>
      </LinesForm>
      <div aria-live="polite">{answer && <Ranking lines={answer} />}</div>
    </section>
  );
}

interface LinesFormProps {
  readonly button: string;
  readonly text: string;
  readonly setText: (text: string) => void;
  readonly isRunning: boolean;
  readonly problem: string;
  readonly run: () => void;
  readonly children?: ComponentChildren;
}

function LinesForm({ button, text, setText, isRunning, problem, run, children }: LinesFormProps) {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        run();
      }}
    >
      {children}
      <label>
        Texts, one on each line
        <textarea rows={4} value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <div class="buttons">
        <button type="submit" class="main" disabled={isRunning}>
          {button}
        </button>
      </div>
      {problem !== "" && (
        <p class="notice bad" role="alert">
          {problem}
        </p>
      )}
    </form>
  );
}

/** The last answer to a question; what fails is told, not thrown. */
function useAsked<Answer>() {
  const [answer, setAnswer] = useState<Answer>();
  const [problem, setProblem] = useState("");
  const [isRunning, setRunning] = useState(false);
  const ask = (question: () => Promise<Answer>) => {
    setRunning(true);
    setProblem("");
    question()
      .then(setAnswer, (reason) => {
        setAnswer(undefined);
        setProblem(reason instanceof Error ? reason.message : String(reason));
      })
      .finally(() => setRunning(false));
  };
  return { answer, problem, isRunning, ask };
}

async function post<Answer>(path: string, body: object): Promise<Answer> {
  const headers = { "content-type": "application/json" };
  const response = await callServer(path, { method: "POST", headers, body: JSON.stringify(body) });
  return (await response.json()) as Answer;
}

function linesOf(text: string): readonly string[] {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  if (lines.length > MAX_LINES) throw new Error(`There are ${lines.length} lines; write ${MAX_LINES} at most.`);
  return lines;
}

interface Line {
  readonly line: string;
  readonly vector: readonly number[];
}

/** Of the accent's colour behind the cell of the greatest likeness, in percent: the text on it is read. */
const MOST_COLOUR = 35;

function Similarities({ lines }: { readonly lines: readonly Line[] }) {
  const scrolls = lines.length > 2;
  return (
    <section class="rows" tabIndex={scrolls ? 0 : undefined} aria-label="Similarities">
      <table class="alike">
        <caption>Cosine of their vectors of {lines[0]?.vector.length} numbers: 1 is the same direction</caption>
        <thead>
          <tr>
            <th scope="col">Text</th>
            {lines.map((_, index) => (
              <th scope="col" key={index}>
                {index + 1}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {lines.map(({ line, vector }, row) => (
            <tr key={row}>
              <th scope="row">{`${row + 1} ${line}`}</th>
              {lines.map((other, column) => (
                <SimilarityCell key={column} value={cosine(vector, other.vector)} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function SimilarityCell({ value }: { readonly value: number }) {
  const part = Math.round(MOST_COLOUR * Math.max(0, value || 0));
  return <td style={{ background: `color-mix(in srgb, var(--accent) ${part}%, transparent)` }}>{value.toFixed(3)}</td>;
}

/** Not a number for a vector of zeros. */
function cosine(one: readonly number[], other: readonly number[]): number {
  const dot = (a: readonly number[], b: readonly number[]) =>
    a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
  return dot(one, other) / Math.sqrt(dot(one, one) * dot(other, other));
}

interface Ranked {
  readonly line: string;
  readonly index: number;
  readonly score: number;
}

function Ranking({ lines }: { readonly lines: readonly Ranked[] }) {
  const scores = lines.map(({ score }) => score);
  const [low, high] = [Math.min(0, ...scores), Math.max(...scores)];
  return (
    <table class="bars">
      <caption>The texts, the best first</caption>
      <tbody>
        {lines.map(({ line, index, score }) => (
          <tr key={index}>
            <th scope="row">{line}</th>
            <td class="bar">
              <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
                <rect width={high > low ? (100 * (score - low)) / (high - low) : 0} height="8" rx="1" />
              </svg>
            </td>
            <td class="score">{score.toPrecision(4)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
