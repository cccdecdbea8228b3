import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { PageState } from "../protocols/page/page-data.ts";
import { ActivityPart, LogPart } from "./activity-part.tsx";
import { ApiPart } from "./api-part.tsx";
import { CallError, keepAuthorization, keepToken } from "./call-server.ts";
import { ModelsPart } from "./models-part.tsx";
import { linkTo, usePlace } from "./use-place.ts";
import { usePolled } from "./use-polled.ts";

/** Parts for those who may see requests and the log. */
const WATCHED = { activity: "Activity", log: "Log" } as const;

const place = document.getElementById("page");
keepFromLeaving();
place?.replaceChildren();
if (place !== null) render(<App />, place);

/** Refuses files that are dropped next to a place for files: a browser would show them in place of the page. */
function keepFromLeaving(): void {
  for (const type of ["dragover", "drop"] as const)
    addEventListener(type, (event) => {
      const { defaultPrevented, dataTransfer } = event;
      if (defaultPrevented || dataTransfer?.types.includes("Files") !== true) return;
      event.preventDefault();
      dataTransfer.dropEffect = "none";
    });
}

/** The whole page. */
function App() {
  const { value: state, error, refresh } = usePolled<PageState>("ui/models", 3000);
  if (state !== undefined) keepToken(state.token);
  const first = useRef<string>(undefined);
  first.current ??= state?.version;
  const [place = "", ...rest] = usePlace();
  const part = place === "" && isApiPage() ? "api" : place;
  const needsName = error instanceof CallError && error.status === 401;
  return (
    <>
      {needsName && <SignIn error={error} onDone={refresh} />}
      {/* Kept meanwhile, for what has been written into forms. */}
      <div hidden={needsName}>
        <Header state={state} part={part} />
        {error !== undefined && !needsName && (
          <p class="notice bad" role="alert">
            {failureText(error)}
          </p>
        )}
        {state !== undefined && state.version !== first.current && (
          <p class="notice bad" role="alert">
            {`This page is of version ${first.current}, and the server now of ${state.version}: load the page again.`}
          </p>
        )}
        <main id="main">
          {state === undefined ? <p>Loading …</p> : <Part part={part} rest={rest} state={state} refresh={refresh} />}
        </main>
      </div>
    </>
  );
}

interface PartProps {
  readonly part: string;
  readonly rest: readonly string[];
  readonly state: PageState;
  readonly refresh: () => void;
}

function Part({ part, rest, state, refresh }: PartProps) {
  if (part === "activity" && state.mayWatch) return <ActivityPart />;
  if (part === "log" && state.mayWatch) return <LogPart />;
  if (part === "api") return <ApiPart />;
  const [model = "", version = ""] = part === "models" ? rest : [];
  return <ModelsPart state={state} model={model} version={version} refresh={refresh} />;
}

function Header({ state, part }: { readonly state: PageState | undefined; readonly part: string }) {
  const isModels = part !== "activity" && part !== "log" && part !== "api";
  return (
    <header>
      <a class="skip" href="#main">
        To the content
      </a>
      <h1>kserving</h1>
      <nav aria-label="Parts of the page">
        <a href={linkTo("models")} aria-current={isModels ? "page" : undefined}>
          Models
        </a>
        <a href={linkTo("api")} aria-current={part === "api" ? "page" : undefined}>
          API
        </a>
        {state?.mayWatch === true &&
          Object.entries(WATCHED).map(([name, title]) => (
            <a key={name} href={linkTo(name)} aria-current={part === name ? "page" : undefined}>
              {title}
            </a>
          ))}
      </nav>
      <p class="facts">
        {state && `version ${state.version}`}
        {state?.user ? `, ${state.user}` : ""}
      </p>
    </header>
  );
}

/** The page under `/docs` begins with the calls. */
function isApiPage(): boolean {
  return new URL(document.baseURI).pathname.endsWith("/docs");
}

function failureText(error: unknown): string {
  if (error instanceof CallError) return error.message;
  return "The server does not answer; the page shows what it last said, and asks again.";
}

/** Asks for what the server wants to know of a caller. */
function SignIn({ error, onDone }: { readonly error: CallError; readonly onDone: () => void }) {
  const [user, setUser] = useState("");
  const [secret, setSecret] = useState("");
  const [problem, setProblem] = useState("");
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current?.querySelector("input")?.focus(), []);
  const takesUsers = error.challenges.includes("Basic");
  const takesTokens = error.challenges.includes("Bearer") || !takesUsers;
  const send = (event: Event) => {
    event.preventDefault();
    const isToken = user === "";
    // No header has other characters.
    if (isToken && !/^[!-~]+$/.test(secret.trim()))
      return setProblem("A token has no such characters; a password needs its user.");
    setProblem("");
    keepAuthorization(isToken ? `Bearer ${secret.trim()}` : `Basic ${base64(`${user}:${secret}`)}`);
    onDone();
  };
  return (
    <main class="sign-in">
      <h1>kserving</h1>
      <p role="alert">{problem || error.message}</p>
      <form ref={form} onSubmit={send}>
        {takesUsers && (
          <label>
            User{takesTokens && " (empty for a token)"}
            <input value={user} autocomplete="username" onInput={(event) => setUser(event.currentTarget.value)} />
          </label>
        )}
        <label>
          {[...(takesUsers ? ["Password"] : []), ...(takesTokens ? ["Token"] : [])]
            .join(" or token")
            .replace("Token or token", "Token")}
          <input
            type="password"
            value={secret}
            autocomplete="current-password"
            required
            onInput={(event) => setSecret(event.currentTarget.value)}
          />
        </label>
        <button type="submit">Sign in</button>
      </form>
      <p class="facts">It is kept in this tab until the tab is closed.</p>
    </main>
  );
}

/** Of the text's UTF-8. */
function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}
