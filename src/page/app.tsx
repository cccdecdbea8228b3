import { useRef } from "preact/hooks";
import type { PageState } from "../protocols/page/page-data.ts";
import { ActivityPart } from "./activity-part.tsx";
import { ApiPart } from "./api-part.tsx";
import { CallError, keepToken } from "./call-server.ts";
import { LogPart } from "./log-part.tsx";
import { ModelsPart } from "./models-part.tsx";
import { SignIn } from "./sign-in.tsx";
import { linkTo, usePlace } from "./use-place.ts";
import { usePolled } from "./use-polled.ts";

/** The whole page. */
export function App() {
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

/** Parts for those who may see requests and the log. */
const WATCHED = { activity: "Activity", log: "Log" } as const;

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
