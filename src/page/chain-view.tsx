import { Fragment } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { sizeText } from "../platform/text/size-text.ts";
import type { PageStage, PageVersion } from "../protocols/page/page-data.ts";
import type { GraphNode, ModelGraph } from "../tensor/signature/model-graph.ts";
import { callServer } from "./call-server.ts";

/** The way of a request through hooks and models, as a drawn chain, and the graphs of the models. */
export function Chain({ of }: { readonly of: PageVersion }) {
  const { stages, hooks, notes } = of;
  const has = (hook: string) => hooks.includes(hook);
  return (
    <section aria-labelledby="chain">
      <h3 id="chain">Chain</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached by keyboard */}
      <ol class="chain" tabIndex={0}>
        <li class="end">request</li>
        {has("process") && <Hook name="process" detail="calls the models" />}
        {stages.map((stage, index) => (
          <Fragment key={index}>
            {has(`preprocess ${index + 1}`) && <Hook name="preprocess" detail="hook" />}
            <Stage stage={stage} number={index + 1} />
            {has(`postprocess ${index + 1}`) && <Hook name="postprocess" detail="hook" />}
          </Fragment>
        ))}
        <li class="end">answer</li>
      </ol>
      {notes.map((note) => (
        <p key={note} class="facts">
          {note}
        </p>
      ))}
      {/* One that is loaded again may be another. */}
      {stages.map(
        (stage, index) => stage.hasGraph && <Graph key={`${index}/${stage.loadMs}`} of={of} stage={index + 1} />,
      )}
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

function nameOf({ file }: PageStage, number: number): string {
  return file === "" ? `model ${number}` : file;
}

function Stage({ stage, number }: { readonly stage: PageStage; readonly number: number }) {
  const { driver, runtime, loadMs, memoryBytes } = stage;
  const memory = memoryBytes === undefined ? "" : `, ${sizeText(memoryBytes)}`;
  return (
    <li class="stage">
      <strong>{nameOf(stage, number)}</strong>
      <span class="facts">{driver}</span>
      <span class="facts" title={runtime}>
        loaded in {Math.round(loadMs)} ms{memory}
      </span>
    </li>
  );
}

interface GraphProps {
  readonly of: PageVersion;
  readonly stage: number;
}

/** The graph of a stage's model, which is asked for when it is opened. */
function Graph({ of: { model, version, stages }, stage }: GraphProps) {
  const [isOpen, setOpen] = useState(false);
  const [graph, setGraph] = useState<ModelGraph>();
  const [problem, setProblem] = useState("");
  useEffect(() => {
    if (!isOpen || graph !== undefined) return;
    const stop = new AbortController();
    const path = `ui/models/${encodeURIComponent(model)}/versions/${version}/stages/${stage}/graph`;
    callServer(path, { signal: stop.signal })
      .then(async (response) => setGraph((await response.json()) as ModelGraph))
      .then(() => setProblem(""))
      .catch((reason) => {
        if (!stop.signal.aborted) setProblem(reason instanceof Error ? reason.message : String(reason));
      });
    return () => stop.abort();
  }, [isOpen, graph, model, version, stage]);
  const named = stages[stage - 1];
  const drawn = useMemo(() => graph && <GraphView graph={graph} />, [graph]);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>The graph of {named === undefined ? `model ${stage}` : nameOf(named, stage)}</summary>
      {problem !== "" && <p class="notice bad">{problem}</p>}
      {isOpen && graph === undefined && problem === "" && <p role="status">Reading …</p>}
      {isOpen && drawn}
    </details>
  );
}

/** A graph as a picture, and as a table for those who cannot see it. */
function GraphView({ graph: { nodes, omitted } }: { readonly graph: ModelGraph }) {
  const places = toPlaces(nodes);
  const width = Math.max(...places.map(({ x }) => x), 0) + WIDTH + GAP;
  const height = Math.max(...places.map(({ y }) => y), 0) + HEIGHT + GAP;
  const said = `Graph of ${nodes.length} nodes, from the inputs above to the outputs below; a table of them follows`;
  return (
    <>
      {omitted > 0 && (
        <p class="notice">
          The graph is cut: it has {omitted} more {omitted === 1 ? "node" : "nodes"}.
        </p>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached by keyboard */}
      <div class="graph" tabIndex={0}>
        <svg width={width} height={height} role="img" aria-label={said}>
          {nodes.map((node, index) =>
            node.from.map((from) => <Edge key={from} from={places[from]} to={places[index]} />),
          )}
          {nodes.map((node, index) => (
            <Node key={index} node={node} place={places[index]} />
          ))}
        </svg>
      </div>
      <details>
        <summary>The nodes as a table</summary>
        <NodeTable nodes={nodes} />
      </details>
    </>
  );
}

/** Sizes of a node, and the room between nodes, in pixels. */
const [WIDTH, HEIGHT, GAP] = [170, 42, 26];
/** Characters that fit into a node. */
const MAX_SHOWN = 24;

interface Place {
  readonly x: number;
  readonly y: number;
}

/** Each node in a layer below those that it takes values from, as far as can be below their middle. */
function toPlaces(nodes: readonly GraphNode[]): readonly Place[] {
  const layers = toLayers(nodes);
  const places: Place[] = [];
  const taken = new Map<number, number>();
  for (const index of [...nodes.keys()].toSorted((a, b) => (layers[a] ?? 0) - (layers[b] ?? 0))) {
    const layer = layers[index] ?? 0;
    const above = (nodes[index]?.from ?? []).flatMap((from) => places[from]?.x ?? []);
    const wanted = above.reduce((sum, x) => sum + x, 0) / (above.length || 1);
    const x = Math.max(taken.get(layer) ?? GAP / 2, wanted);
    taken.set(layer, x + WIDTH + GAP);
    places[index] = { x, y: GAP / 2 + layer * (HEIGHT + GAP) };
  }
  return places;
}

/** The number of nodes on the longest way to each; a node that comes before its source is of no way. */
function toLayers(nodes: readonly GraphNode[]): readonly number[] {
  const layers: number[] = [];
  for (const [index, { from }] of nodes.entries()) {
    const sources = from.filter((one) => one < index);
    layers[index] = sources.reduce((layer, one) => Math.max(layer, (layers[one] ?? 0) + 1), 0);
  }
  return layers;
}

function Edge({ from, to }: { readonly from: Place | undefined; readonly to: Place | undefined }) {
  if (from === undefined || to === undefined) return null;
  const [x1, y1, x2, y2] = [from.x + WIDTH / 2, from.y + HEIGHT, to.x + WIDTH / 2, to.y];
  const middle = (y1 + y2) / 2;
  return <path d={`M${x1} ${y1}C${x1} ${middle} ${x2} ${middle} ${x2} ${y2}`} />;
}

function Node({ node, place }: { readonly node: GraphNode; readonly place: Place | undefined }) {
  const { name, type, gives, bytes } = node;
  if (place === undefined) return null;
  const isEnd = type === "Input" || type === "Output";
  const detail = [gives, bytes > 0 && sizeText(bytes)].filter(Boolean).join(", ");
  return (
    <g transform={`translate(${place.x} ${place.y})`} class={isEnd ? "end" : undefined}>
      <title>{`${type} ${name} ${detail}`}</title>
      <rect width={WIDTH} height={HEIGHT} rx="6" />
      <text x="8" y="17" class="type">
        {shorten(isEnd ? `${type} ${name}` : type)}
      </text>
      <text x="8" y="33">
        {shorten(detail || name)}
      </text>
    </g>
  );
}

function shorten(text: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN - 1)}…` : text;
}

function NodeTable({ nodes }: { readonly nodes: readonly GraphNode[] }) {
  return (
    <table>
      <thead>
        <tr>
          {["Node", "Type", "From", "Gives", "Constants"].map((title) => (
            <th key={title} scope="col">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {nodes.map(({ name, type, from, gives, bytes }, index) => (
          <tr key={index}>
            <th scope="row">{name || `(${index})`}</th>
            <td>{type}</td>
            <td>{from.map((one) => nodes[one]?.name || `(${one})`).join(", ")}</td>
            <td>{gives}</td>
            <td>{bytes > 0 && sizeText(bytes)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
