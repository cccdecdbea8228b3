import { useEffect, useRef, useState } from "preact/hooks";
import { callServer } from "./call-server.ts";
import { type ChatMessage, NO_ANSWER, readEvents, withChunk } from "./stream-parts.ts";

/** A conversation with a model that has the function `chat`, whose answers are shown as they come. */
export function ChatView({ model }: { readonly model: string }) {
  const { messages, isRunning, send, stop, clear } = useChat(model);
  const [draft, setDraft] = useState("");
  const [pictures, setPictures] = useState<readonly string[]>([]);
  const [results, setResults] = useState<Readonly<Record<string, string>>>({});
  const [frame, setFrame] = useState<Frame>({ system: "", tools: "" });
  const [problem, setProblem] = useState("");
  const last = messages.at(-1);
  const calls = (!isRunning && last?.end === undefined && last?.calls) || [];
  const submit = () => {
    const said = draft.trim() === "" && pictures.length === 0 ? [] : [{ role: "user", text: draft, pictures } as const];
    const next: readonly ChatMessage[] =
      calls.length > 0 ? calls.map((call) => ({ role: "tool", text: results[call.id] ?? "", call })) : said;
    if (next.length === 0 || isRunning) return;
    try {
      void send(next, frameMembers(frame));
    } catch (reason) {
      return setProblem(textOf(reason));
    }
    setProblem("");
    setDraft("");
    setPictures([]);
    setResults({});
  };
  return (
    <section aria-labelledby="chat">
      <h3 id="chat">Conversation</h3>
      <div role="log" aria-label="Messages" aria-busy={isRunning} class="talk">
        {messages.map((message, index) => (
          <MessageView key={index} message={message} isGrowing={isRunning && index === messages.length - 1} />
        ))}
      </div>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        {calls.map(({ id, name }) => (
          <label key={id}>
            {`What ${name} gives`}
            <textarea
              rows={2}
              value={results[id] ?? ""}
              onInput={(event) => setResults({ ...results, [id]: event.currentTarget.value })}
            />
          </label>
        ))}
        {calls.length === 0 && <MessageFields {...{ draft, setDraft, pictures, setPictures, submit, setProblem }} />}
        {problem !== "" && (
          <p class="notice bad" role="alert">
            {problem}
          </p>
        )}
        <div class="buttons">
          <button type="submit" class="main" disabled={isRunning}>
            Send
          </button>
          <button type="button" disabled={!isRunning} onClick={stop}>
            Stop
          </button>
          <button type="button" disabled={messages.length === 0} onClick={clear}>
            New conversation
          </button>
        </div>
        <FrameFields frame={frame} onChange={setFrame} />
      </form>
    </section>
  );
}

interface MessageFieldsProps {
  readonly draft: string;
  readonly setDraft: (text: string) => void;
  readonly pictures: readonly string[];
  readonly setPictures: (pictures: readonly string[]) => void;
  readonly submit: () => void;
  readonly setProblem: (text: string) => void;
}

function MessageFields({ draft, setDraft, pictures, setPictures, submit, setProblem }: MessageFieldsProps) {
  const chooser = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (pictures.length === 0 && chooser.current !== null) chooser.current.value = "";
  }, [pictures]);
  const choose = (files: readonly File[]) =>
    Promise.all(files.map(dataUri)).then(setPictures, () => setProblem("The browser cannot read these pictures."));
  const sendByKey = (event: KeyboardEvent) => {
    // While a letter is composed of several keys, Enter ends that.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    submit();
  };
  return (
    <>
      <label>
        Message <span class="facts">Enter sends it, Shift and Enter begin a line.</span>
        <textarea
          rows={2}
          value={draft}
          onInput={(event) => setDraft(event.currentTarget.value)}
          onKeyDown={sendByKey}
        />
      </label>
      <label>
        Pictures
        <input
          ref={chooser}
          type="file"
          accept="image/*"
          multiple
          onChange={(event) => void choose([...(event.currentTarget.files ?? [])])}
        />
      </label>
    </>
  );
}

function dataUri(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

/** Facts that go with every request of a conversation. */
interface Frame {
  readonly system: string;
  /** A list of functions in JSON. */
  readonly tools: string;
}

interface FrameFieldsProps {
  readonly frame: Frame;
  readonly onChange: (frame: Frame) => void;
}

function FrameFields({ frame, onChange }: FrameFieldsProps) {
  return (
    <details>
      <summary>Instructions and tools</summary>
      <label>
        Instructions, the message of the system
        <textarea
          rows={2}
          value={frame.system}
          onInput={(event) => onChange({ ...frame, system: event.currentTarget.value })}
        />
      </label>
      <label>
        Tools, as a JSON list of functions with name, description and parameters
        <textarea
          rows={4}
          spellcheck={false}
          value={frame.tools}
          onInput={(event) => onChange({ ...frame, tools: event.currentTarget.value })}
        />
      </label>
    </details>
  );
}

interface FrameMembers {
  readonly first: readonly object[];
  readonly tools?: readonly object[];
}

/** Throws an Error for tools that are no list. */
function frameMembers({ system, tools }: Frame): FrameMembers {
  const first = system.trim() === "" ? [] : [{ role: "system", content: system }];
  if (tools.trim() === "") return { first };
  const list = listOf(tools);
  if (list === undefined) throw new Error('Tools are no list; expected [{"name": …, "parameters": {…}}].');
  return { first, tools: list.map((tool) => (tool?.function ? tool : { type: "function", function: tool })) };
}

/** Undefined for a text that is no list in JSON. */
function listOf(json: string): readonly (object & { readonly function?: object })[] | undefined {
  try {
    const list: unknown = JSON.parse(json);
    return Array.isArray(list) ? list : undefined;
  } catch {
    return undefined;
  }
}

/** The messages of a conversation, and the request that is under way. */
function useChat(model: string) {
  const [messages, setMessages] = useState<readonly ChatMessage[]>([]);
  const [isRunning, setRunning] = useState(false);
  const stopper = useRef<AbortController>(undefined);
  useEffect(() => () => stopper.current?.abort(), []);
  const send = async (next: readonly ChatMessage[], { first, tools }: FrameMembers) => {
    const own = new AbortController();
    stopper.current = own;
    const history = [...messages, ...next];
    const show = (answer: ChatMessage) => stopper.current === own && setMessages([...history, answer]);
    show(NO_ANSWER);
    setRunning(true);
    const body = { model, stream: true, messages: [...first, ...wireOf(history)], ...(tools && { tools }) };
    await answerTo(JSON.stringify(body), own.signal, show);
    if (stopper.current === own) setRunning(false);
  };
  const clear = () => {
    stopper.current?.abort();
    stopper.current = undefined;
    setRunning(false);
    setMessages([]);
  };
  return { messages, isRunning, send, stop: () => stopper.current?.abort(), clear };
}

/** Without messages to which nothing came: templates of many models refuse two of the user's in a row. */
function wireOf(messages: readonly ChatMessage[]): readonly object[] {
  const wire = messages.map(toWire);
  return wire.flatMap((own, index) => (messages[index]?.role === "user" && wire[index + 1]?.length === 0 ? [] : own));
}

/** An answer of which nothing came is none to the model, and calls are as they came only at its own end. */
function toWire({ role, text, pictures = [], calls: begun = [], call, end }: ChatMessage): readonly object[] {
  const calls = end === undefined ? begun : [];
  if (call !== undefined) return [{ role, tool_call_id: call.id, content: text }];
  if (role === "assistant" && text === "" && calls.length === 0) return [];
  const images = pictures.map((url) => ({ type: "image_url", image_url: { url } }));
  const content = images.length === 0 ? text : [...(text === "" ? [] : [{ type: "text", text }]), ...images];
  const made = calls.map(({ id, ...fields }) => ({ id, type: "function", function: fields }));
  return [{ role, content, ...(made.length > 0 && { tool_calls: made }) }];
}

/** Shows an answer as it grows, as often as the screen does, and its end. */
async function answerTo(body: string, signal: AbortSignal, show: (answer: ChatMessage) => void): Promise<void> {
  let answer = NO_ANSWER;
  let frame: number | undefined;
  const draw = () => {
    frame = undefined;
    show(answer);
  };
  try {
    const headers = { "content-type": "application/json" };
    const response = await callServer("v1/chat/completions", { method: "POST", headers, body, signal });
    for await (const event of readEvents(response)) {
      if (event === "[DONE]") continue;
      answer = withChunk(answer, JSON.parse(event));
      frame ??= requestAnimationFrame(draw);
    }
  } catch (reason) {
    const end = signal.aborted ? { text: "Stopped.", isBad: false } : { text: textOf(reason), isBad: true };
    answer = { ...answer, end };
  }
  if (frame !== undefined) cancelAnimationFrame(frame);
  show(answer);
}

const WHO = { user: "You", assistant: "Model", tool: "Tool" } as const;

function MessageView({ message, isGrowing }: { readonly message: ChatMessage; readonly isGrowing: boolean }) {
  const { role, text, pictures = [], reasoning, refusal, calls = [], call, end } = message;
  return (
    <div class={`said ${role}`}>
      <h4>{call === undefined ? WHO[role] : `${WHO[role]} ${call.name}`}</h4>
      {reasoning !== undefined && (
        <details>
          <summary>Thoughts</summary>
          <p class="grown">{reasoning}</p>
        </details>
      )}
      {(text !== "" || isGrowing) && <p class="grown">{text === "" ? "…" : text}</p>}
      {refusal !== undefined && <p class="notice">{refusal}</p>}
      {pictures.map((url, index) => (
        <img key={index} src={url} alt={`Number ${index + 1} of the message`} />
      ))}
      {calls.map(({ id, name, arguments: given }) => (
        <div key={id}>
          <p>
            Calls the tool <strong>{name}</strong>
          </p>
          <pre>{given}</pre>
        </div>
      ))}
      {end !== undefined && <p class={end.isBad ? "notice bad" : "facts"}>{end.text}</p>}
    </div>
  );
}

function textOf(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason);
}
