import { useRef, useState } from "preact/hooks";
import type { PageSignature, PageState, PageTensor, PageVersion } from "../protocols/page/page-data.ts";
import { callServer } from "./call-server.ts";
import { Chain } from "./chain-view.tsx";
import { ChatView } from "./chat-view.tsx";
import { EmbedView, RerankView } from "./lines-view.tsx";
import { TryIt } from "./try-it.tsx";
import { linkTo } from "./use-place.ts";

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

interface ModelPartProps {
  readonly shown: PageVersion;
  readonly mayControl: boolean;
  readonly refresh: () => void;
}

/** All about one version of a model. */
function ModelPart({ shown, mayControl, refresh }: ModelPartProps) {
  const { model, version, reason, isReady, stages, signatures, texts } = shown;
  return (
    <article aria-labelledby="model">
      <h2 id="model">
        {model} <span class="facts">version {version}</span> <State of={shown} />
      </h2>
      {reason !== "" && <p class="notice bad">{reason}</p>}
      {mayControl && <Controls of={shown} refresh={refresh} />}
      {stages.length > 0 && <Chain of={shown} />}
      {isReady && texts.includes("chat") && <ChatView model={model} />}
      {isReady && texts.includes("embed") && <EmbedView model={model} />}
      {isReady && texts.includes("rerank") && <RerankView model={model} />}
      {isReady && <TryIt shown={shown} />}
      <SignatureTables signatures={signatures} />
    </article>
  );
}

interface ModelListProps {
  readonly state: PageState;
  readonly shown: PageVersion | undefined;
}

/** The models with their versions and states. */
function ModelList({ state, shown }: ModelListProps) {
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
function State({ of: { isReady, state, reason } }: { readonly of: PageVersion }) {
  const isFailed = !isReady && reason !== "" && (state === "END" || state === "AVAILABLE");
  const word = isReady ? "ready" : state === "END" ? "not loaded" : state.toLowerCase();
  return <span class={`state ${isReady ? "good" : isFailed ? "bad" : "busy"}`}>{word}</span>;
}

interface ControlsProps {
  readonly of: PageVersion;
  readonly refresh: () => void;
}

/** Buttons that load and unload a model, for viewers who may. */
function Controls({ of: { model, state }, refresh }: ControlsProps) {
  const [doing, setDoing] = useState("");
  const [told, setTold] = useState({ text: "", isBad: false });
  const send = async (deed: string, word: string) => {
    setDoing(word);
    setTold({ text: "", isBad: false });
    try {
      await callServer(`ui/models/${encodeURIComponent(model)}/${deed}`, { method: "POST" });
      setTold({ text: `${model} is ${word}.`, isBad: false });
    } catch (reason) {
      setTold({ text: reason instanceof Error ? reason.message : String(reason), isBad: true });
    }
    setDoing("");
    refresh();
  };
  const isLoaded = state === "AVAILABLE";
  return (
    <section aria-label="Controls">
      <div class="buttons">
        <button
          type="button"
          disabled={doing !== ""}
          onClick={() => void send("load", isLoaded ? "reloaded" : "loaded")}
        >
          {isLoaded ? "Reload" : "Load"}
        </button>
        {isLoaded && (
          <button type="button" disabled={doing !== ""} onClick={() => void send("unload", "unloaded")}>
            Unload
          </button>
        )}
      </div>
      <p class={told.isBad ? "notice bad" : "facts"} role="status">
        {doing === "" ? told.text : "The server is at it …"}
      </p>
    </section>
  );
}

/** Inputs and outputs of every signature. */
function SignatureTables({ signatures }: { readonly signatures: readonly PageSignature[] }) {
  return (
    <>
      {signatures.map(({ name, inputs, outputs }) => (
        <section key={name}>
          <h3>{signatures.length > 1 ? `Signature ${name}` : "Inputs and outputs"}</h3>
          <div class="pair">
            <Tensors caption="Inputs" tensors={inputs} absent="Any inputs are taken." />
            <Tensors caption="Outputs" tensors={outputs} absent="Not known before a request." />
          </div>
        </section>
      ))}
    </>
  );
}

interface TensorsProps {
  readonly caption: string;
  readonly tensors: readonly PageTensor[] | undefined;
  readonly absent: string;
}

function Tensors({ caption, tensors, absent }: TensorsProps) {
  if (tensors === undefined) return <p class="facts">{`${caption}: ${absent}`}</p>;
  return (
    <table class="tensors">
      <caption>{caption}</caption>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Type</th>
          <th scope="col">Shape</th>
        </tr>
      </thead>
      <tbody>
        {tensors.map((tensor) => (
          <tr key={tensor.name}>
            <th scope="row">{tensor.name}</th>
            <td>{`${tensor.datatype || "any"}${tensor.takesImages ? ", or an image" : ""}${tensor.isOptional ? ", optional" : ""}`}</td>
            <td>{shapeText(tensor)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function shapeText({ shape }: PageTensor): string {
  return shape === undefined ? "any" : `[${shape.map((size) => (size < 0 ? "any" : size)).join(", ")}]`;
}
